"""dpmm: PrivBayes, MST and AIM, without its binning (the codes are bins already), so epsilon is the whole cost."""

from contract import answer, request
from dpmm.pipelines import AIMPipeline, MSTPipeline, PrivBayesPipeline

PIPELINES = {"privbayes": PrivBayesPipeline, "mst": MSTPipeline, "aim": AIMPipeline}


def main() -> None:
    """Fit one pipeline and draw as many rows as there were."""
    asked = request()
    pipeline = PIPELINES[asked.variant](asked.epsilon, asked.delta, n_jobs=1, disable_processing=True)
    pipeline.fit(asked.rows, domain=asked.sizes, random_state=asked.seed)
    answer(asked, pipeline.generate(n_records=len(asked.rows), random_state=asked.seed))


if __name__ == "__main__":
    main()
