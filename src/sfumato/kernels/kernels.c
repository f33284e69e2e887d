/* Inner loops over rows, on plain arrays. fallback.py has the same functions in NumPy and is their specification. */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define BLOCK 4096 /* rows per block: its cell numbers stay in the first-level cache */

/* Add one column's part of the cell numbers to those of a block: code * stride, or what a table says of the code. Two
 * sizes of cell number, because compilers turn the 16-bit loops into code that handles many rows per instruction on
 * every processor, and the 32-bit loops only on newer ones. */
#define ADD_ALL(cell_t, code_t)                                                                                        \
    {                                                                                                                  \
        const code_t *code = (const code_t *)column + first;                                                          \
        if (table)                                                                                                     \
            for (int64_t i = 0; i < rows; i++) cell[i] = (cell_t)(cell[i] + table[code[i]]);                           \
        else                                                                                                           \
            for (int64_t i = 0; i < rows; i++) cell[i] = (cell_t)(cell[i] + code[i] * (uint32_t)(cell_t)stride);       \
    }
#define DEFINE_ADD_CODES(name, cell_t)                                                                                 \
    static void name(cell_t *cell, const void *column, int width, uint32_t stride, const uint32_t *table,             \
                     int64_t first, int64_t rows)                                                                      \
    {                                                                                                                  \
        if (width == 1) ADD_ALL(cell_t, uint8_t)                                                                       \
        else if (width == 2) ADD_ALL(cell_t, uint16_t)                                                                 \
        else ADD_ALL(cell_t, uint32_t)                                                                                 \
    }

DEFINE_ADD_CODES(add_codes_16, uint16_t)
DEFINE_ADD_CODES(add_codes, uint32_t)

/* Add to counts the number of rows in each cell of the table over k columns of 1, 2 or 4 bytes a code. Where tables[j]
 * is not NULL, it has for each code of column j the coded value times strides[j]. */
void sfumato_count(const void **columns, const int32_t *widths, const uint32_t *strides, const uint32_t **tables,
                   int32_t k, int64_t rows, int64_t *counts)
{
    uint32_t cell[BLOCK];
    for (int64_t first = 0; first < rows; first += BLOCK) {
        int64_t here = rows - first < BLOCK ? rows - first : BLOCK;
        memset(cell, 0, sizeof(uint32_t) * (size_t)here);
        for (int32_t j = 0; j < k; j++) add_codes(cell, columns[j], widths[j], strides[j], tables[j], first, here);
        for (int64_t i = 0; i < here; i++) counts[cell[i]]++;
    }
}

/* The same for a table of at most 2^16 cells, whose counts are the sums of `even` and `odd`: rows take turns between the
 * two, since an increment must wait for the one before it when both change the same number, as in a very common cell. */
void sfumato_count_small(const void **columns, const int32_t *widths, const uint32_t *strides, const uint32_t **tables,
                         int32_t k, int64_t rows, int64_t *even, int64_t *odd)
{
    uint16_t cell[BLOCK];
    for (int64_t first = 0; first < rows; first += BLOCK) {
        int64_t here = rows - first < BLOCK ? rows - first : BLOCK, i = 0;
        memset(cell, 0, sizeof(uint16_t) * (size_t)here);
        for (int32_t j = 0; j < k; j++) add_codes_16(cell, columns[j], widths[j], strides[j], tables[j], first, here);
        for (; i + 4 <= here; i += 4) { /* one read for four cell numbers; their order does not matter */
            uint64_t four;
            memcpy(&four, cell + i, sizeof four);
            even[(uint16_t)four]++;
            odd[(uint16_t)(four >> 16)]++;
            even[(uint16_t)(four >> 32)]++;
            odd[four >> 48]++;
        }
        for (; i < here; i++) even[cell[i]]++;
    }
}

/* The cell number of rows `from` … `to` - 1 of a d x rows table of 4-byte codes, and the number of rows in each cell. */
void sfumato_locate(const uint32_t *table, int64_t rows, const int32_t *columns, const uint32_t *strides, int32_t k,
                    uint32_t *cell, int64_t *counts, int64_t from, int64_t to)
{
    for (int64_t first = from; first < to; first += BLOCK) {
        int64_t here = to - first < BLOCK ? to - first : BLOCK;
        memset(cell + first, 0, sizeof(uint32_t) * (size_t)here);
        for (int32_t j = 0; j < k; j++)
            add_codes(cell + first, table + (int64_t)columns[j] * rows, 4, strides[j], NULL, first, here);
        for (int64_t i = 0; i < here; i++) counts[cell[first + i]]++;
    }
}

/* The same for a table that lies row by row, of d codes of 2 or 4 bytes. Returns 1, at once, if a code is as large as the
 * size of its column: the caller cannot look for that as quickly. */
#define LOCATE_ROWS(code_t)                                                                                            \
    for (int64_t i = from; i < to; i++) {                                                                              \
        const code_t *row = (const code_t *)table + i * d;                                                             \
        uint32_t at = 0;                                                                                               \
        for (int32_t j = 0; j < k; j++) {                                                                              \
            if (row[columns[j]] >= sizes[j]) return 1;                                                                 \
            at += row[columns[j]] * strides[j];                                                                        \
        }                                                                                                              \
        cell[i] = at;                                                                                                  \
        counts[at]++;                                                                                                  \
    }

int32_t sfumato_locate_rows(const void *table, int32_t width, int32_t d, const int32_t *columns,
                            const uint32_t *strides, const uint32_t *sizes, int32_t k, uint32_t *cell,
                            int64_t *counts, int64_t from, int64_t to)
{
    if (width == 2) LOCATE_ROWS(uint16_t)
    else LOCATE_ROWS(uint32_t)
    return 0;
}

#define ROW_STEP 16 /* codes of a row that are copied in the time of a step */

/* Move rows between the cells of one marginal. The table lies row by row, d codes of `width` bytes (2 or 4) each: to copy
 * a row is to copy what lies together, and not to jump through all columns.
 *
 * From each cell, `leave` random rows are freed. The freed rows, in random order, then enter other cells: for each of
 * `replace` entries only the marginal's own columns are overwritten; for each of `duplicate` entries the whole row becomes
 * a copy of a random row that was in the cell. A cell has either `leave` or entries, never both, so no copied row
 * has been overwritten before. Sums of leave and of replace + duplicate are equal. `order` (rows), `freed` (sum of leave)
 * and `start` (cells) are scratch.
 *
 * A call takes about `steps` steps, leaves in `so_far` where the next one goes on, which starts with zeros, and returns
 * whether all is done. What is made does not depend on where calls end.
 */
typedef struct {
    int64_t stage, at, inner, freed, next;
} moving_t;

enum { BEGIN, SORT, FREE, SHUFFLE, ENTER };

int32_t sfumato_move(char *table, int32_t width, int64_t rows, int32_t d, const int32_t *columns,
                     const uint32_t *strides, const uint32_t *sizes, int32_t k, int64_t cells, const uint32_t *cell,
                     const int64_t *counts, const int64_t *leave, const int64_t *replace, const int64_t *duplicate,
                     uint64_t *state, uint32_t *order, uint32_t *freed, int64_t *start, int64_t *so_far,
                     int64_t steps)
{
    moving_t *now = (moving_t *)so_far;
    if (now->stage == BEGIN) {
        int64_t at = 0;
        for (int64_t c = 0; c < cells; c++) {
            start[c] = at;
            if (leave[c] > 0 || duplicate[c] > 0) at += counts[c];
            else start[c] = -1; /* nobody looks at the rows of this cell */
        }
        now->stage = SORT;
    }
    if (now->stage == SORT) {
        int64_t end = rows - now->at < steps ? rows : now->at + steps;
        steps -= end - now->at;
        for (int64_t i = now->at; i < end; i++)
            if (start[cell[i]] >= 0) order[start[cell[i]]++] = (uint32_t)i;
        now->at = end;
        if (end < rows) return 0;
        for (int64_t c = 0; c < cells; c++)
            if (start[c] >= 0) start[c] -= counts[c];
        now->stage = FREE;
        now->at = 0;
    }
    if (now->stage == FREE) {
        for (; now->at < cells && steps > 0; now->at++, now->inner = 0, steps--) {
            if (leave[now->at] == 0) continue;
            uint32_t *members = order + start[now->at];
            int64_t all = counts[now->at];
            for (; now->inner < leave[now->at] && steps > 0; now->inner++, steps--) {
                /* a partial shuffle: the first `leave` members are a random sample */
                int64_t j = now->inner + below(state, (uint32_t)(all - now->inner));
                uint32_t member = members[j];
                members[j] = members[now->inner];
                members[now->inner] = member;
                freed[now->freed++] = member;
            }
            if (now->inner < leave[now->at]) return 0;
        }
        if (now->at < cells) return 0;
        now->stage = SHUFFLE;
        now->at = now->freed - 1;
    }
    if (now->stage == SHUFFLE) {
        for (; now->at > 0 && steps > 0; now->at--, steps--) {
            int64_t j = below(state, (uint32_t)(now->at + 1));
            uint32_t row = freed[j];
            freed[j] = freed[now->at];
            freed[now->at] = row;
        }
        if (now->at > 0) return 0;
        now->stage = ENTER;
        now->at = 0;
    }
    for (; now->at < cells && steps > 0; now->at++, now->inner = 0, steps--) {
        int64_t c = now->at, all = replace[c] + duplicate[c], size = (int64_t)d * width;
        for (; now->inner < all && steps > 0; now->inner++, steps--) {
            char *row = table + freed[now->next++] * size;
            if (now->inner >= replace[c]) {
                memcpy(row, table + order[start[c] + below(state, (uint32_t)counts[c])] * size, (size_t)size);
                steps -= d / ROW_STEP;
                continue;
            }
            for (int32_t j = 0; j < k; j++) {
                uint32_t code = (uint32_t)(c / strides[j]) % sizes[j];
                if (width == 2) ((uint16_t *)row)[columns[j]] = (uint16_t)code;
                else ((uint32_t *)row)[columns[j]] = code;
            }
        }
        if (now->inner < all) return 0;
    }
    return now->at == cells;
}

/* Swap single values between random pairs of rows wherever that brings the tables nearer to their targets.
 *
 * The table is row-major: a proposal looks at all columns of two random rows, so a row should be one or two lines of the
 * cache, and the rows of the next proposals are fetched ahead. Codes are of 2 bytes where they fit, else of 4.
 *
 * `excess` holds rows minus target for every cell of every table, one table after the other; table t starts at offset[t]
 * and its columns (with their strides) are table_column[table_start[t]] … . Column j occurs in the tables
 * in_table[in_start[j]] … with stride in_stride. A swap keeps all one-column counts. It is made if the sum of squared
 * excesses falls; where the two rows differ in no other column of a table, that table does not change. `touched` has room
 * for four cells of every table that one column occurs in. Returns the number of swaps made.
 */
#if defined(__GNUC__) || defined(__clang__)
#define FETCH(address) __builtin_prefetch(address)
#else
#define FETCH(address) ((void)0)
#endif

#define AHEAD 16 /* proposals whose rows are on their way from memory; a power of two */

typedef struct {
    int32_t column;
    int64_t one, two;
} proposal_t;

#define DEFINE_SWAP(name, code_t)                                                                                      \
    int64_t name(code_t *table, int64_t rows, int32_t d, const int32_t *table_start, const int32_t *table_column,      \
                 const uint32_t *table_stride, const int64_t *offset, const int32_t *in_start,                         \
                 const int32_t *in_table, const uint32_t *in_stride, float *excess, int64_t proposals,                 \
                 uint64_t *state, int64_t *touched)                                                                    \
    {                                                                                                                  \
        proposal_t queue[AHEAD];                                                                                       \
        int64_t made = 0, drawn = 0;                                                                                   \
        for (int64_t done = 0; done < proposals; done++) {                                                             \
            for (; drawn < proposals && drawn < done + AHEAD; drawn++) {                                               \
                proposal_t *next = queue + (drawn & (AHEAD - 1));                                                      \
                next->column = (int32_t)below(state, (uint32_t)d);                                                     \
                next->one = (int64_t)below(state, (uint32_t)rows) * d;                                                 \
                next->two = (int64_t)below(state, (uint32_t)rows) * d;                                                 \
                FETCH(table + next->one);                                                                              \
                FETCH(table + next->two);                                                                              \
                FETCH(table + next->one + next->column);                                                               \
                FETCH(table + next->two + next->column);                                                               \
            }                                                                                                          \
            int32_t j = queue[done & (AHEAD - 1)].column;                                                              \
            code_t *one = table + queue[done & (AHEAD - 1)].one, *two = table + queue[done & (AHEAD - 1)].two;         \
            code_t x = one[j], y = two[j];                                                                             \
            if (x == y) continue;                                                                                      \
            double change = 0;                                                                                         \
            int32_t changed = 0;                                                                                       \
            for (int32_t i = in_start[j]; i < in_start[j + 1]; i++) {                                                  \
                int32_t t = in_table[i];                                                                               \
                int64_t from_one = offset[t], from_two = offset[t], step = ((int64_t)y - (int64_t)x) * in_stride[i];   \
                for (int32_t k = table_start[t]; k < table_start[t + 1]; k++) {                                        \
                    from_one += (int64_t)one[table_column[k]] * table_stride[k];                                       \
                    from_two += (int64_t)two[table_column[k]] * table_stride[k];                                       \
                }                                                                                                      \
                if (from_one + step == from_two) continue;                                                             \
                int64_t *cells = touched + 4 * changed++;                                                              \
                cells[0] = from_one;                                                                                   \
                cells[1] = from_two;                                                                                   \
                cells[2] = from_one + step;                                                                            \
                cells[3] = from_two - step;                                                                            \
                change += 2.0 * (excess[cells[2]] + excess[cells[3]] - excess[cells[0]] - excess[cells[1]]) + 4.0;     \
            }                                                                                                          \
            if (change >= 0) continue;                                                                                 \
            made++;                                                                                                    \
            one[j] = y;                                                                                                \
            two[j] = x;                                                                                                \
            for (int32_t i = 0; i < changed; i++) {                                                                    \
                excess[touched[4 * i]] -= 1;                                                                           \
                excess[touched[4 * i + 1]] -= 1;                                                                       \
                excess[touched[4 * i + 2]] += 1;                                                                       \
                excess[touched[4 * i + 3]] += 1;                                                                       \
            }                                                                                                          \
        }                                                                                                              \
        return made;                                                                                                   \
    }

DEFINE_SWAP(sfumato_swap_16, uint16_t)
DEFINE_SWAP(sfumato_swap, uint32_t)

/* Bring rows nearer to tables by two kinds of moves: two rows exchange their values of one column, or one row becomes a
 * copy of another. A move is made if it lowers the sum over all cells of weight * excess².
 *
 * `rows` is row-major, n rows of d codes. Table t lies over column[first[t]] … column[first[t + 1] - 1] with their
 * strides; its cells begin at offset[t]. cell[2c] is the excess of cell c (rows in it minus its target), cell[2c + 1] its
 * weight. Column j is in the tables of entries in_first[j] … in_first[j + 1] - 1; the table of entry i begins at
 * in_offset[i], has the stride in_stride[i] for j, and its other columns are other[o_first[i]] … with strides o_stride.
 *
 * energy[r] is the sum over tables of weight * excess of the cells of row r, as it was when the row was last looked at. A
 * small tournament on it picks the rows: those of high energy are exchanged or overwritten, those of low energy copied.
 * Copies are every OFTEN-th proposal while more than a fifth of them are made, otherwise every SELDOM-th. It ends when
 * there were `proposals` since copies were last frequent, or `most` in all.
 *
 * Rows should be in random order: moves are tried among WINDOW neighbouring rows at a time, since many rows do not fit into
 * the cache. The window goes on by half its size after VISIT proposals, over all rows again and again.
 *
 * `touched` has room for 4 cells of every table. No loop over tables has a branch that depends on cells: a wrong guess of
 * the processor would cost more than the sums.
 *
 * A call takes `steps` steps at most and leaves in `so_far` what the next one goes on from; it starts with zeros. First,
 * a step gives one row its energy; then it is a proposal. What is made does not depend on where calls end.
 */
typedef struct {
    int64_t looked, done, busy, made, copies, copied, copied_before, often;
} so_far_t;

#define OFTEN 4
#define SELDOM 20
#define AMONG 4
#define LOOK 512 /* copies between two looks at how many were made */
#define WINDOW 16384 /* rows that moves are tried among at a time: they stay in the second-level cache */
#define VISIT (WINDOW / 8) /* proposals until the window goes on; few, since its rows move towards what all rows lack */

/* Rows that moves are tried among: `size` of all n, from `first` on, and at the end on from row 0. */
typedef struct {
    int64_t first, size, n;
} window_t;

static int64_t row_in(uint64_t *state, window_t window)
{
    int64_t row = window.first + below(state, (uint32_t)window.size);
    return row < window.n ? row : row - window.n;
}

static int64_t tournament(uint64_t *state, const float *energy, window_t window, float sign)
{
    int64_t best = row_in(state, window);
    for (int k = 1; k < AMONG; k++) {
        int64_t row = row_in(state, window);
        best = sign * energy[row] > sign * energy[best] ? row : best;
    }
    return best;
}

/* The rows that proposal number `done` is among; where they change, the new ones are brought into the cache. */
static window_t window_at(int64_t done, const uint16_t *rows, const float *energy, int64_t n, int32_t d)
{
    window_t window = {0, n, n};
    if (n <= WINDOW) return window;
    window.size = WINDOW;
    window.first = done / VISIT % n * (WINDOW / 2) % n;
    if (done % VISIT == 0) {
        for (int64_t k = WINDOW / 2; k < WINDOW; k++) {
            int64_t row = (window.first + k) % n;
            for (int32_t j = 0; j < d; j += 32) FETCH(rows + row * d + j);
            if (k % 16 == 0) FETCH(energy + row);
        }
    }
    return window;
}

/* Twice the number of the cell of a row in each table, and the energy of the row. */
static float look(const uint16_t *row, int32_t tables, const int32_t *first, const int32_t *column,
                  const int32_t *stride, const int32_t *offset, const float *cell, int32_t *found)
{
    float energy = 0;
    for (int32_t t = 0; t < tables; t++) {
        int32_t at = offset[t];
        for (int32_t i = first[t]; i < first[t + 1]; i++) at += stride[i] * row[column[i]];
        found[t] = 2 * at;
    }
    for (int32_t t = 0; t < tables; t++) energy += cell[found[t] + 1] * cell[found[t]];
    return energy;
}

void sfumato_improve(uint16_t *rows, int64_t n, int32_t d, int32_t tables, const int32_t *first, const int32_t *column,
                     const int32_t *stride, const int32_t *offset, const int32_t *in_first, const int32_t *in_offset,
                     const int32_t *in_stride, const int32_t *o_first, const int32_t *other, const int32_t *o_stride,
                     float *cell, float *energy, int64_t proposals, int64_t most, uint64_t *state, int32_t *touched,
                     int64_t *so_far, int64_t steps)
{
    so_far_t *now = (so_far_t *)so_far;
    window_t window = window_at(now->done - now->done % VISIT, rows, energy, n, d);
    for (; now->looked < n && steps > 0; now->looked++, steps--)
        energy[now->looked] =
            look(rows + now->looked * d, tables, first, column, stride, offset, cell, touched);
    for (; steps > 0 && now->done < now->busy + proposals && now->done < most; now->done++, steps--) {
        float change = 0;
        if (now->done % VISIT == 0) window = window_at(now->done, rows, energy, n, d);
        if (below(state, now->often ? OFTEN : SELDOM) == 0) {
            if (++now->copies % LOOK == 0) {
                now->often = now->copied - now->copied_before > LOOK / 5;
                now->copied_before = now->copied;
            }
            if (now->often) now->busy = now->done;
            int64_t source = tournament(state, energy, window, -1), lost = tournament(state, energy, window, 1);
            int32_t *a = touched, *b = touched + tables;
            float low = look(rows + source * d, tables, first, column, stride, offset, cell, a);
            float high = look(rows + lost * d, tables, first, column, stride, offset, cell, b);
            for (int32_t t = 0; t < tables; t++)
                change += a[t] == b[t] ? 0.0f : cell[a[t] + 1] + cell[b[t] + 1];
            energy[source] = low;
            energy[lost] = high;
            if (change + 2 * (low - high) >= 0) continue;
            energy[lost] = low;
            memcpy(rows + lost * d, rows + source * d, sizeof *rows * (size_t)d);
            for (int32_t t = 0; t < tables; t++) {
                cell[a[t]] += 1;
                cell[b[t]] -= 1;
            }
            now->copied++;
            now->made++;
            continue;
        }
        int32_t j = (int32_t)below(state, (uint32_t)d);
        int64_t r1 = tournament(state, energy, window, 1), r2 = tournament(state, energy, window, 1);
        uint16_t *one = rows + r1 * d, *two = rows + r2 * d;
        int32_t x = one[j], y = two[j], *at = touched;
        if (x == y) continue;
        for (int32_t i = in_first[j]; i < in_first[j + 1]; i++, at += 4) {
            int32_t u = in_offset[i], v = u;
            for (int32_t o = o_first[i]; o < o_first[i + 1]; o++) {
                u += o_stride[o] * one[other[o]];
                v += o_stride[o] * two[other[o]];
            }
            at[0] = 2 * (u + x * in_stride[i]);
            at[1] = 2 * (v + y * in_stride[i]);
            at[2] = 2 * (u + y * in_stride[i]);
            at[3] = 2 * (v + x * in_stride[i]);
            float here = cell[at[2] + 1] * (2 * cell[at[2]] + 1) + cell[at[3] + 1] * (2 * cell[at[3]] + 1)
                         - cell[at[0] + 1] * (2 * cell[at[0]] - 1) - cell[at[1] + 1] * (2 * cell[at[1]] - 1);
            change += u == v ? 0.0f : here;
        }
        if (change >= 0) continue;
        now->made++;
        one[j] = (uint16_t)y;
        two[j] = (uint16_t)x;
        energy[r1] += change / 4; /* the sum changes by about twice what both energies change by */
        energy[r2] += change / 4;
        for (int32_t *to = touched; to < at; to += 4) {
            cell[to[0]] -= 1; /* where u == v these cancel */
            cell[to[1]] -= 1;
            cell[to[2]] += 1;
            cell[to[3]] += 1;
        }
    }
}
