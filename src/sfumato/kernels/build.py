"""Builds the compiled kernels with cffi: C files, the stable ABI, and no build failure where there is no compiler."""

from pathlib import Path

from cffi import FFI

ROWS = """
void sfumato_count(const void **columns, const int32_t *widths, const uint32_t *strides, const uint32_t **tables,
                   int32_t k, int64_t rows, int64_t *counts);
void sfumato_count_small(const void **columns, const int32_t *widths, const uint32_t *strides, const uint32_t **tables,
                         int32_t k, int64_t rows, int64_t *even, int64_t *odd);
void sfumato_locate(const uint32_t *table, int64_t rows, const int32_t *columns, const uint32_t *strides, int32_t k,
                    uint32_t *cell, int64_t *counts, int64_t from, int64_t to);
int32_t sfumato_locate_rows(const void *table, int32_t width, int32_t d, const int32_t *columns,
                            const uint32_t *strides, const uint32_t *sizes, int32_t k, uint32_t *cell,
                            int64_t *counts, int64_t from, int64_t to);
int32_t sfumato_move(char *table, int32_t width, int64_t rows, int32_t d, const int32_t *columns,
                     const uint32_t *strides, const uint32_t *sizes, int32_t k, int64_t cells, const uint32_t *cell,
                     const int64_t *counts, const int64_t *leave, const int64_t *replace, const int64_t *duplicate,
                     uint64_t *state, uint32_t *order, uint32_t *freed, int64_t *start, int64_t *so_far,
                     int64_t steps);
int64_t sfumato_swap(uint32_t *table, int64_t rows, int32_t d, const int32_t *table_start, const int32_t *table_column,
                     const uint32_t *table_stride, const int64_t *offset, const int32_t *in_start,
                     const int32_t *in_table, const uint32_t *in_stride, float *excess, int64_t proposals,
                     uint64_t *state, int64_t *touched);
void sfumato_improve(uint16_t *rows, int64_t n, int32_t d, int32_t tables, const int32_t *first, const int32_t *column,
                     const int32_t *stride, const int32_t *offset, const int32_t *in_first, const int32_t *in_offset,
                     const int32_t *in_stride, const int32_t *o_first, const int32_t *other, const int32_t *o_stride,
                     float *cell, float *energy, int64_t proposals, int64_t most, uint64_t *state, int32_t *touched,
                     int64_t *so_far, int64_t steps);
int64_t sfumato_swap_16(uint16_t *table, int64_t rows, int32_t d, const int32_t *table_start,
                        const int32_t *table_column, const uint32_t *table_stride, const int64_t *offset,
                        const int32_t *in_start, const int32_t *in_table, const uint32_t *in_stride, float *excess,
                        int64_t proposals, uint64_t *state, int64_t *touched);
"""

TREES = """
int32_t sfumato_deal(const uint32_t *parent, int64_t rows, uint32_t *hand, int64_t *start, int64_t cells,
                     uint32_t *child, uint64_t *state, int64_t *so_far, int64_t steps);
int32_t sfumato_eliminate(int32_t d, int32_t words, const double *sizes, double most_fill, double limit,
                          uint64_t *graph, uint64_t *found, double *fill, double *cells, uint8_t *gone,
                          uint64_t *touched);
"""

HERE = Path(__file__).parent


def _built(module: str, declarations: str, source: str) -> FFI:
    builder = FFI()
    builder.cdef(declarations)
    builder.set_source(
        f"sfumato.kernels.{module}",
        "".join((HERE / file).read_text(encoding="utf-8") for file in ("random.h", source)),
        extra_compile_args=["-O3"],
        py_limited_api=True,
        optional=True,  # an install without a C compiler works and uses NumPy
    )
    return builder


rows = _built("_compiled", ROWS, "kernels.c")
trees = _built("_trees", TREES, "trees.c")
