/* Random numbers of the kernels; build.py puts this before each C file. */

#include <stdint.h>

/* xoshiro256**: fast, good, and not for noise: only post-processing draws from it. */
static uint64_t rotate(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

static uint64_t next_word(uint64_t *s)
{
    uint64_t result = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

/* A number in 0 … bound - 1 for bound < 2^32; its bias is below 2^-32. */
static uint32_t below(uint64_t *state, uint32_t bound)
{
    return (uint32_t)(((next_word(state) >> 32) * bound) >> 32);
}
