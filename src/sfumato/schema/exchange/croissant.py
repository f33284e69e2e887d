"""Croissant (ML Commons): the description of a data set for catalogues. Only out: it has no domains to read."""

from __future__ import annotations

from sfumato.schema.exchange.carried import Exported, kind_of, lost_in
from sfumato.schema.schema import Schema
from sfumato.text import json_text

_TYPES = {
    "categorical": "sc:Text", "boolean": "sc:Boolean", "integer": "sc:Integer", "number": "sc:Float",
    "date": "sc:Date", "datetime": "sc:DateTime",
}  # fmt: skip

_CONTEXT = {
    "@language": "en", "@vocab": "https://schema.org/", "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/", "dct": "http://purl.org/dc/terms/", "conformsTo": "dct:conformsTo",
    "citeAs": "cr:citeAs", "column": "cr:column", "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"}, "extract": "cr:extract", "field": "cr:field",
    "fileObject": "cr:fileObject", "fileSet": "cr:fileSet", "recordSet": "cr:recordSet", "source": "cr:source",
    "sha256": "sc:sha256", "format": "cr:format", "includes": "cr:includes", "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath", "key": "cr:key", "md5": "cr:md5", "parentField": "cr:parentField", "path": "cr:path",
    "references": "cr:references", "regex": "cr:regex", "repeated": "cr:repeated", "replace": "cr:replace",
    "samplingRate": "cr:samplingRate", "separator": "cr:separator", "subField": "cr:subField",
    "transform": "cr:transform",
    "equivalentProperty": "cr:equivalentProperty", "fileProperty": "cr:fileProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "rai": "http://mlcommons.org/croissant/RAI/",
}  # fmt: skip

FILE = "synthetic.csv"


def write(schema: Schema) -> Exported:
    """A description of the rows of a release. Add the `sha256` of the file when you publish it."""
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"rows/{column.name}",
            "name": column.name,
            "description": column.note or column.name,
            "dataType": _TYPES[kind_of(column)],
            "source": {"fileObject": {"@id": FILE}, "extract": {"column": column.name}},
        }
        for column in schema.columns
    ]
    found = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "name": schema.name,
        "description": schema.notes or f"A synthetic table of {schema.name}",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        **({"license": schema.license} if schema.license else {}),
        "distribution": [
            {"@type": "cr:FileObject", "@id": FILE, "name": FILE, "contentUrl": FILE, "encodingFormat": "text/csv"}
        ],
        "recordSet": [{"@type": "cr:RecordSet", "@id": "rows", "name": "rows", "field": fields}],
    }
    return Exported(
        json_text(found) + "\n",
        (
            "all domains, and which values may be missing: Croissant has no word for them",
            f"the sha256 of {FILE}: add it to its entry in 'distribution'",
            *lost_in(schema, ("note", "notes", "license")),
        ),
    )
