/* Options of the stand-ins; see standin.h. */
#include "standin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int set(const struct option *option, const char *text)
{
	char *end = NULL;
	long long factor = 1, number;
	if (option->kind == FLAG) {
		if (text != NULL)
			return 0;
		if (option->value != NULL)
			++*(int *)option->value;
		return 1;
	}
	if (text == NULL || *text == 0)
		return 0;
	if (option->kind == TEXT) {
		*(const char **)option->value = text;
		return 1;
	}
	number = strtoll(text, &end, 10);
	if (option->kind == SIZE && *end != 0) {
		switch (*end++) {
		case 'k': factor = 1LL << 10; break;
		case 'm': factor = 1LL << 20; break;
		case 'g': factor = 1LL << 30; break;
		default: return 0;
		}
	}
	if (*end != 0 || number < 0)
		return 0;
	if (option->value != NULL)
		*(long long *)option->value = number * factor;
	return 1;
}

/* find looks for an option by the name before '=' or the end; of directives, IOR does not mind the case. */
static const struct option *find(const struct option *options, const char *name, size_t length, int directive)
{
	for (; options->name != NULL; options++)
		if (options->directive == directive && strlen(options->name) == length &&
		    (directive ? strncasecmp(options->name, name, length) : strncmp(options->name, name, length)) == 0)
			return options;
	return NULL;
}

static int set_directives(const struct option *options, char *text)
{
	char *rest = NULL, *each;
	for (each = strtok_r(text, ",", &rest); each != NULL; each = strtok_r(NULL, ",", &rest)) {
		size_t length = strcspn(each, "=");
		const struct option *option = find(options, each, length, 1);
		const char *value = each[length] ? each + length + 1 : NULL;
		if (option == NULL || !(option->kind == FLAG ? value && *value == '1' && set(option, NULL) : set(option, value)))
			return 0;
	}
	return 1;
}

const char *parse(int argc, char **argv, const struct option *options)
{
	for (int i = 1; i < argc; i++) {
		const char *argument = argv[i];
		size_t length = strcspn(argument, "=");
		const char *value = argument[length] ? argument + length + 1 : NULL;
		if (strcmp(argument, "-O") == 0) {
			char *directives = i + 1 < argc ? strdup(argv[++i]) : NULL;
			if (directives == NULL || !set_directives(options, directives))
				return argv[i];
			continue;
		}
		const struct option *option = find(options, argument, length, 0);
		if (option == NULL)
			return argument;
		if (option->kind != FLAG && value == NULL && i + 1 < argc)
			value = argv[++i];
		if (!set(option, value))
			return argument;
	}
	return NULL;
}

void usage(const char *program, const struct option *options)
{
	static const char *const values[] = {"", "=N", "=N[k|m|g]", "=TEXT"};
	printf("Synopsis %s\n\n%s\n\nOptions\n", program, STANDIN_NOTE);
	for (; options->name != NULL; options++)
		printf("  %s%s%s%s\n", options->directive ? "-O " : "", options->name, options->directive && options->kind == FLAG ? "=1" : values[options->kind],
		       options->value == NULL ? "    taken, without effect" : "");
}

void refuse(const char *program, const char *argument, const struct option *options)
{
	if (rank == 0) {
		printf("Error invalid argument: %s\nInvalid options\n", argument);
		usage(program, options);
		fflush(stdout);
	}
	MPI_Finalize();
	exit(1);
}
