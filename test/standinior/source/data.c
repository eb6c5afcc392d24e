/* The data of the stand-in for ior; see standin.h. */
#include "standin.h"

#include <string.h>

enum pattern pattern_of(const char *text)
{
	switch (text[0]) {
	case 'o': return OFFSET;
	case 'i': return SAME_WORD;
	case 'r': return RANDOM;
	default: return TIMESTAMP;
	}
}

/* drawn is a good enough random number (splitmix64), so that nothing compresses. */
static uint64_t drawn(void)
{
	static uint64_t state;
	if (state == 0)
		state = ((uint64_t)rank << 40) ^ (uint64_t)(now() * 1e6);
	uint64_t z = (state += 0x9e3779b97f4a7c15u);
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* word is the one at place 'at' of a transfer: the writer above, and below a count, as 4.0.0 has it. By offsets
 * the first of each 512 words is a multiple of the transfer's. */
static uint64_t word(enum pattern pattern, long long at, int writer, long long offset, long long signature)
{
	uint64_t above = (uint64_t)writer << 32;
	return pattern == OFFSET && at % 512 == 0 ? above + (uint64_t)(offset * (at / 512 + 1)) : above | (uint32_t)(signature + at);
}

void fill(char *buffer, long long bytes, enum pattern pattern, int writer, long long offset, long long signature)
{
	uint64_t same = pattern == SAME_WORD ? drawn() : 0;
	for (long long at = 0; at < bytes / 8; at++) {
		uint64_t value = pattern == SAME_WORD ? same : pattern == RANDOM ? drawn() : word(pattern, at, writer, offset, signature);
		memcpy(buffer + at * 8, &value, 8);
	}
}

long long differing(const char *buffer, long long bytes, enum pattern pattern, int writer, long long offset, long long signature)
{
	long long wrong = 0;
	for (long long at = 0; at < bytes / 8; at++) {
		uint64_t value = word(pattern, at, writer, offset, signature);
		wrong += memcmp(buffer + at * 8, &value, 8) != 0;
	}
	return wrong;
}
