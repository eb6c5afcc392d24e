/*
 * Writes testdata/rank.csv: for percentiles p and numbers of samples n, the smallest count
 * for which fio's comparison in calc_clat_percentiles holds. It is the C expression itself,
 * on x86-64, so that the Go code is tested against the compiler and not against a reading
 * of it, with the options that fio is built with (in another function gcc may order the factors
 * otherwise, which shows only near 2^64 samples, the work of millennia):
 *   gcc -O3 -ffast-math -o rank testdata/rank.c && ./rank > testdata/rank.csv
 */
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>

static uint64_t rank_of(double p, unsigned long long nr)
{
	uint64_t low = 0, high = nr; /* the comparison holds for nr itself */

	while (low < high) {
		uint64_t sum = low + (high - low) / 2;

		if (sum >= ((long double) p / 100.0 * nr))
			high = sum;
		else
			low = sum + 1;
	}
	return low;
}

static uint64_t state = 88172645463325252ull;

static uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

int main(void)
{
	static const char *const ps[] = {
		"1", "5", "10", "20", "30", "40", "50", "60", "70", "80", "90", "95", "99",
		"99.5", "99.9", "99.95", "99.99", "99.999", "99.9999", "99.99999", "100",
		"0.000001", "0.1", "33.333333", "66.7", "12.3", "0.7", "57.14",
	};
	static const unsigned long long ns[] = {
		1, 2, 3, 7, 10, 20, 99, 100, 101, 200, 999, 1000, 1001, 2000, 9999, 10000,
		10001, 12345, 20000, 100000, 1000000, 3000000, 10000000, 123456789,
		1000000000, 99999999999, 1000000000000000, 1000000000000000000ull,
	};
	size_t i, j;

	printf("percentile,samples,rank\n");
	for (i = 0; i < sizeof(ps) / sizeof(ps[0]); i++)
		for (j = 0; j < sizeof(ns) / sizeof(ns[0]); j++)
			printf("%s,%llu,%llu\n", ps[i], ns[j],
			       (unsigned long long) rank_of(strtod(ps[i], NULL), ns[j]));
	for (i = 0; i < 1500; i++) {
		char p[32];
		unsigned long long n = (next() >> (next() % 63)) | 1;

		snprintf(p, sizeof(p), "%.6f", (double) (next() % 100000000 + 1) / 1e6);
		printf("%s,%llu,%llu\n", p, n, (unsigned long long) rank_of(strtod(p, NULL), n));
	}
	return 0;
}
