/* SPDX-License-Identifier: MIT */
/*
 * Everything but the macros goes through put_text(): what roff would take for its own is written so
 * that it stands there as it is, and a hyphen as one that can be copied into a shell.
 */
#include "cli/man.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/strbuf.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "cli/help.h"

enum { NAME_BYTES_MAX = 64, SOURCE_COLUMNS = 76 };

struct entry {
	const char *term;
	const char *text;
};

static const struct entry statuses[] = {
	{ "0", "Success." },
	{ "1", "What an option asks about was found, or \"seep doctor\" found a problem." },
	{ "2", "It could not be done, or was asked for wrongly." },
	{ "125, 126, 127",
	  "\"seep run\" could not start the program; it cannot be executed; it does not exist. "
	  "Otherwise \"seep run\" ends as the program does." },
};

static const struct entry variables[] = {
	{ "SEEP_DIR", "An existing folder for ledgers, in place of those below." },
	{ "SEEP_LIB", "The path of libseep.so, in place of the installed one." },
	{ "NO_COLOR", "Where it is not empty nothing is coloured." },
	{ "DEBUGINFOD_URLS", "The servers that --debuginfod asks for debug information." },
	{ "BROWSER", "What \"seep open\" starts, in place of xdg-open." },
	{ "XDG_CACHE_HOME", "\"seep open\" writes its pages to the folder seep in it (~/.cache)." },
	{ "GITHUB_STEP_SUMMARY", "The file to which \"seep check --github\" adds a summary." },
	{ "SEEP_OPTIONS",
	  "Options of libseep.so, as KEY=VALUE:KEY=VALUE, for programs that are started with "
	  "LD_PRELOAD and without \"seep run\", which sets it; \"\\:\" stands for a colon in a "
	  "value. The keys:" },
};

static const struct entry runtime_options[] = {
#define CORE_RUNTIME_OPTION(key, meaning, ...) { #key, meaning },
#include "core/runtime_option.def"
};

static const struct entry files[] = {
	{ "*.seep", "Recordings, which are SQLite databases." },
	{ "/dev/shm/seep-UID, /run/user/UID/seep-UID, /var/tmp/seep-UID, /tmp/seep-UID",
	  "Ledgers: what is counted while a program runs. \"seep ps\" lists them." },
	{ SEEP_LIBRARY_DIR "/libseep.so", "The library that \"seep run\" loads into programs." },
};

/* What may not stand for itself. */
static const char *roff_of(unsigned code)
{
	static const struct {
		unsigned code;
		const char *roff;
	} codes[] = {
		{ '\\', "\\e" },  { '-', "\\-" },   { '\'', "\\(aq" }, { '"', "\\(dq" },
		{ '`', "\\(ga" }, { '^', "\\(ha" }, { '~', "\\(ti" },  { 0xa0, "\\~" },
	};

	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
		if (codes[i].code == code)
			return codes[i].roff;
	return NULL;
}

static void escape(struct seep_strbuf *buf, const char *text, size_t bytes)
{
	while (bytes) {
		unsigned code = 0;
		size_t length = seep_utf8_decode(text, bytes, &code);
		const char *roff = roff_of(code);

		if (roff)
			seep_strbuf_adds(buf, roff);
		else if (code < 0x80)
			seep_strbuf_addc(buf, *text);
		else
			seep_strbuf_addf(buf, "\\[u%04X]", code);
		text += length ? length : 1;
		bytes -= length ? length : 1;
	}
}

/* Inside a line. */
static void put_bytes(const char *text, size_t bytes, FILE *out)
{
	SEEP_STRBUF(roff, SEEP_LINE_BYTES_MAX);

	escape(&roff, text, bytes);
	(void)fputs(roff.text, out);
}

static void put_text(const char *text, FILE *out)
{
	put_bytes(text, strlen(text), out);
}

/*
 * Whole lines, since a dot at the start of one would be a macro; not longer than a source's are,
 * unless @kept as they are. An escape has no space in it.
 */
static void put_lines(const char *text, size_t bytes, bool kept, FILE *out)
{
	SEEP_STRBUF(roff, SEEP_LINE_BYTES_MAX);

	escape(&roff, text, bytes);
	for (const char *at = roff.text; *at;) {
		size_t length = strcspn(at, " "), next;

		while (kept ? at[length] : at[length] == ' ') {
			next = length + 1 + strcspn(at + length + 1, " ");
			if (!kept && next > SOURCE_COLUMNS)
				break;
			length = next;
		}
		(void)fprintf(out, "%s%.*s\n", *at == '.' ? "\\&" : "", (int)length, at);
		at += length + (at[length] == ' ');
	}
}

static void put_prose(const char *text, FILE *out)
{
	put_lines(text, strlen(text), false, out);
}

/* Syntax: options bold, "FILE" in italics, brackets and the like plain. */
static void put_syntax(const char *text, FILE *out)
{
	static const char lower[] = "abcdefghijklmnopqrstuvwxyz";
	static const char name_bytes[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					 "0123456789-_%";

	while (*text) {
		size_t bytes = strspn(text, name_bytes);

		if (!bytes) {
			bytes = strcspn(text, name_bytes);
			put_bytes(text, bytes, out);
		} else if (*text == '-' || strcspn(text, lower) >= bytes) {
			(void)fputs(*text == '-' ? "\\fB" : "\\fI", out);
			put_bytes(text, bytes, out);
			(void)fputs("\\fR", out);
		} else {
			put_bytes(text, bytes, out);
		}
		text += bytes;
	}
}

static void put_heading(const char *name, const char *summary, FILE *out)
{
	SEEP_FREED char *line = seep_xasprintf("%s - %c%s", name, tolower((unsigned char)*summary),
					       summary + 1);
	time_t when = time(NULL);
	const char *epoch = getenv("SOURCE_DATE_EPOCH");
	struct tm day = { 0 };
	char date[sizeof("2026-01-31")] = "";
	uint64_t seconds;

	if (epoch && seep_parse_count(epoch, INT32_MAX, &seconds, NULL) == 0)
		when = (time_t)seconds;
	if (gmtime_r(&when, &day))
		(void)strftime(date, sizeof(date), "%F", &day);
	(void)fputs(".\\\" Generated by seep; do not edit.\n.TH \"", out);
	for (const char *at = name; *at; at++)
		put_bytes(&(char){ (char)toupper((unsigned char)*at) }, 1, out);
	(void)fprintf(out,
		      "\" 1 \"%s\" \"seep %s\" \"User Commands\"\n.nh\n.ad l\n"
		      ".SH NAME\n",
		      date, SEEP_VERSION);
	put_prose(line, out);
}

/* Paragraphs are filled; lines that are indented stay as they are. */
static void put_details(const char *text, FILE *out)
{
	bool kept = false, open = false;

	while (*text) {
		size_t bytes = strcspn(text, "\n");
		const bool indented = strncmp(text, "  ", 2) == 0;

		if (kept && (!bytes || !indented)) {
			(void)fputs(".EE\n", out);
			kept = open = false;
		}
		if (bytes && (!open || indented != kept)) {
			(void)fputs(indented ? ".PP\n.EX\n" : ".PP\n", out);
			kept = indented;
		}
		open = bytes;
		if (bytes)
			put_lines(text + (indented ? 2 : 0), bytes - (indented ? 2 : 0), kept, out);
		text += bytes + (text[bytes] == '\n');
	}
	if (kept)
		(void)fputs(".EE\n", out);
}

static void put_option(const char *syntax, const char *summary, FILE *out)
{
	(void)fputs(".TP\n", out);
	put_syntax(syntax + strspn(syntax, " "), out);
	(void)fputc('\n', out);
	put_prose(summary, out);
}

static void put_entries(const struct entry *entries, size_t count, FILE *out)
{
	for (size_t i = 0; i < count; i++) {
		(void)fputs(".TP\n.B ", out);
		put_text(entries[i].term, out);
		(void)fputc('\n', out);
		put_prose(entries[i].text, out);
	}
}

#define PUT_ENTRIES(entries, out) put_entries(entries, sizeof(entries) / sizeof(*(entries)), out)

static bool speaks_of(const struct seep_command *command, const char *other)
{
	SEEP_FREED char *phrase = seep_xasprintf("\"seep %s\"", other);
	SEEP_FREED char *longer = seep_xasprintf("\"seep %s ", other);
	const char *details = command->options->details;

	return strstr(details, phrase) || strstr(details, longer);
}

void seep_man_command(const struct seep_command *command, FILE *out)
{
	const struct seep_option_table *table = command->options;
	char name[NAME_BYTES_MAX];

	(void)snprintf(name, sizeof(name), "seep-%s", command->name);
	put_heading(name, command->summary, out);
	(void)fputs(".SH SYNOPSIS\n\\fBseep ", out);
	put_text(command->name, out);
	(void)fputs("\\fR ", out);
	put_syntax(command->args, out);
	(void)fputs("\n.SH DESCRIPTION\n", out);
	put_text(command->summary, out);
	(void)fputs(".\n", out);
	put_details(table->details, out);
	(void)fputs(".SH OPTIONS\n", out);
	for (size_t i = 0; i < table->count; i++) {
		SEEP_FREED char *syntax = seep_help_option_syntax(&table->options[i]);

		put_option(syntax, table->options[i].summary, out);
	}
	put_option("-h, --help", "Show this help", out);
	(void)fputs(".SH SEE ALSO\n.BR seep (1)", out);
	for (size_t i = 0; i < seep_command_count; i++) {
		const struct seep_command *other = &seep_commands[i];

		if (other != command && speaks_of(command, other->name))
			(void)fprintf(out, ",\n.BR seep\\-%s (1)", other->name);
	}
	(void)fputc('\n', out);
}

void seep_man_overview(FILE *out)
{
	put_heading("seep", "Show where a program's memory went", out);
	(void)fputs(".SH SYNOPSIS\n"
		    "\\fBseep\\fR \\fICOMMAND\\fR [options] \\[u2026]\n"
		    ".PP\n"
		    "\\fBseep help\\fR [\\fICOMMAND\\fR]\n"
		    ".PP\n"
		    "\\fBseep \\-\\-version\\fR\n"
		    ".SH DESCRIPTION\n",
		    out);
	put_prose("seep records the heap of native programs: every allocation, by call stack, "
		  "without changing or rebuilding the program. Results go to standard output, "
		  "everything else to standard error.",
		  out);
	put_details("  seep run ./program arguments     record a program from start to end\n"
		    "  seep report program.1234.seep    where its memory went, by call stack\n",
		    out);
	(void)fputs(".SH COMMANDS\n", out);
	for (size_t i = 0; i < seep_command_count; i++) {
		(void)fprintf(out, ".TP\n.BR seep\\-%s (1)\n", seep_commands[i].name);
		put_text(seep_commands[i].summary, out);
		(void)fputs(".\n", out);
	}
	(void)fputs(".SH EXIT STATUS\n", out);
	PUT_ENTRIES(statuses, out);
	(void)fputs(".SH ENVIRONMENT\n", out);
	PUT_ENTRIES(variables, out);
	(void)fputs(".RS\n", out);
	PUT_ENTRIES(runtime_options, out);
	(void)fputs(".RE\n.SH FILES\n", out);
	PUT_ENTRIES(files, out);
	(void)fputs(".SH SEE ALSO\n", out);
	for (size_t i = 0; i < seep_command_count; i++)
		(void)fprintf(out, ".BR seep\\-%s (1)%s\n", seep_commands[i].name,
			      i + 1 < seep_command_count ? "," : "");
}
