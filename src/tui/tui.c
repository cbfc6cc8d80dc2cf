/* SPDX-License-Identifier: MIT */
#include "tui/tui.h"

#include <langinfo.h>
#include <locale.h>
#include <ncurses.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/growth_text.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/terminal.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "tui/tui_draw.h"

/* A signal between two looks at options->stopped is noticed so late. */
enum { POLL_MAX_MS = 250, ESCAPE_MS = 25, COLUMNS_MIN = 20, ROWS_MIN = 8 };

enum { ESCAPE = 27, DELETE = 127 };

#define SAID_FOR_NS (UINT64_C(8) * SEEP_NS_PER_S)
#define INTERVAL_LEAST_NS UINT64_C(50000000)
#define INTERVAL_MOST_NS (UINT64_C(3600) * SEEP_NS_PER_S)

static const struct seep_tui_screen *const screens[] = {
	&seep_screen_stacks, &seep_screen_tree,	     &seep_screen_timeline,
	&seep_screen_leaks,  &seep_screen_processes, &seep_screen_scopes,
};
enum { SCREENS = sizeof(screens) / sizeof(screens[0]) };

int seep_tui_check(struct seep_error *err)
{
	const char *term = getenv("TERM");

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return seep_fail(
			err, SEEP_EUNSUPPORTED,
			"screens need a terminal; --once prints a table, --csv prints lines "
			"until it is stopped");
	if (!term || !*term || strcmp(term, "dumb") == 0)
		return seep_fail(err, SEEP_EUNSUPPORTED,
				 "this terminal has no screens (TERM=%s); --once prints a table",
				 term ? term : "");
	return 0;
}

void seep_tui_say(struct seep_tui *tui, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(tui->status, sizeof(tui->status), fmt, args);
	va_end(args);
	tui->said_ns = seep_monotonic_ns();
}

static void draw_head(struct seep_tui *tui)
{
	const struct seep_live_totals sum = seep_live_total(tui->live);
	const struct seep_live_process *process = seep_live_first(tui->live);
	const char *exe = process ? process->profile->process.exe : NULL;
	const struct seep_keep_globs *scopes = &tui->live->options.scopes;
	SEEP_FREED char *text = NULL, *grown = NULL;
	const struct seep_profile_within *within = tui->live->options.within;
	SEEP_STRBUF(limits, SEEP_LINE_BYTES_MAX);
	char since[64] = "";

	if (tui->live->since_ns)
		(void)snprintf(since, sizeof(since), " since %s ago",
			       seep_duration_text(tui->live->read_ns - tui->live->since_ns).text);
	if (within)
		seep_strbuf_addf(&limits, ", %s", within->text);
	for (size_t i = 0; i < scopes->count; i++)
		seep_strbuf_addf(&limits, "%s%s", i ? ", " : ", scope ", scopes->items[i]);
	seep_tui_row(tui, 0, SEEP_LOOK_BAR, " seep top  %s (pid %u%s)%s  %s%s",
		     exe ? seep_path_base(exe) : "?", process ? process->profile->process.pid : 0,
		     sum.processes > 1 ? " and others" : "", limits.text, tui->screen->name,
		     !seep_live_runs(tui->live) ? "  ENDED"
		     : tui->frozen		? "  FROZEN"
						: "");
	seep_tui_row(tui, 1, SEEP_LOOK_PLAIN, " %s live, %s%s   peak %s   %s allocs/s  %s frees/s",
		     seep_estimate_text(seep_bytes_text(sum.live_bytes),
					sum.errors[SEEP_FIGURE_live_bytes], seep_bytes_text)
			     .text,
		     seep_change_text(sum.change_bytes, seep_bytes_text).text, since,
		     seep_bytes_text(sum.peak_bytes).text, seep_count_text(sum.allocs_per_s).text,
		     seep_count_text(sum.frees_per_s).text);
	text = seep_xasprintf(" %u process%s   %s   every %s   ", sum.processes,
			      sum.processes == 1 ? "" : "es",
			      seep_things_text(sum.threads, "thread").text,
			      seep_duration_text(tui->interval_ns).text);
	seep_tui_row(tui, 2, SEEP_LOOK_PLAIN, "%s%u growing", text, sum.grown.contexts);
	grown = seep_xasprintf("%u growing: %s   ", sum.grown.contexts,
			       seep_growth_rate_text(sum.grown.bytes_per_hour).text);
	if (sum.grown.contexts > 0)
		seep_tui_put(tui, 2, (int)strlen(text), tui->columns, SEEP_LOOK_BAD, false, grown);
	if (sum.findings > 0)
		seep_tui_put(tui, 2, (int)(strlen(text) + strlen(grown)), tui->columns,
			     SEEP_LOOK_BAD, false,
			     seep_things_text(sum.findings, "heap error").text);
}

static void draw(struct seep_tui *tui)
{
	const struct seep_live_process *process = seep_live_first(tui->live);

	(void)erase();
	getmaxyx(stdscr, tui->rows, tui->columns);
	tui->too_small = tui->rows < ROWS_MIN || tui->columns < COLUMNS_MIN;
	if (tui->too_small) {
		seep_tui_row(tui, 0, SEEP_LOOK_PLAIN, "too small");
		(void)refresh();
		return;
	}
	draw_head(tui);
	tui->screen->draw(tui);
	if (tui->prompt)
		seep_tui_row(tui, tui->rows - 2, SEEP_LOOK_BOLD, "%s: %s_", tui->prompt, tui->text);
	else if (*tui->status || !process || process->profile->unseen_count == 0)
		seep_tui_row(tui, tui->rows - 2, SEEP_LOOK_BOLD, "%s", tui->status);
	else
		seep_tui_row(tui, tui->rows - 2, SEEP_LOOK_DIM, " Not seen: %s",
			     process->profile->unseen[0].detail);
	seep_tui_row(tui, tui->rows - 1, SEEP_LOOK_BAR, " ? help  q quit  Tab screens  %s",
		     tui->screen->keys);
	(void)refresh();
}

static void ask(struct seep_tui *tui, const char *prompt,
		void (*typed)(struct seep_tui *tui, const char *text))
{
	tui->prompt = prompt;
	tui->typed = typed;
	tui->text[0] = '\0';
}

static void set_filter(struct seep_tui *tui, const char *text)
{
	(void)snprintf(tui->filter, sizeof(tui->filter), "%s", text);
	tui->stacks.chosen = 0;
	if (*text)
		seep_tui_say(tui, "stacks with \"%s\" in a function, file or module", text);
	else
		seep_tui_say(tui, "all stacks");
}

static void set_mark(struct seep_tui *tui, const char *text)
{
	struct seep_live_process *process = seep_live_first(tui->live);
	struct seep_error err = { 0 };

	if (!process)
		return;
	if (process->state != SEEP_LIVE_RUNS)
		seep_tui_say(tui, "no mark: the process %s", process->fate);
	else if (tui->options->actions.mark(tui->options->actions.user, process, text, &err) < 0)
		seep_tui_say(tui, "no mark: %s", err.text);
	else
		seep_tui_say(tui, "marked%s%s", *text ? ": " : ", without a name", text);
}

static void change_interval(struct seep_tui *tui, bool longer)
{
	uint64_t ns = longer ? tui->interval_ns * 2 : tui->interval_ns / 2;

	if (ns < INTERVAL_LEAST_NS)
		ns = INTERVAL_LEAST_NS;
	if (ns > INTERVAL_MOST_NS)
		ns = INTERVAL_MOST_NS;
	tui->interval_ns = ns;
	seep_tui_say(tui, "read every %s", seep_duration_text(ns).text);
}

static void show(struct seep_tui *tui, const struct seep_tui_screen *screen)
{
	if (tui->screen != screen)
		tui->page_first = 0;
	tui->screen = screen;
}

static void next_screen(struct seep_tui *tui)
{
	for (int i = 0; i < SCREENS; i++)
		if (tui->screen == screens[i]) {
			show(tui, screens[(i + 1) % SCREENS]);
			return;
		}
	show(tui, tui->back);
}

static void check_leaks(struct seep_tui *tui)
{
	const struct seep_tui_actions *actions = &tui->options->actions;
	struct seep_live_process *process = seep_live_first(tui->live);
	SEEP_RELEASED(seep_profile_free_at) struct seep_profile *profile = NULL;
	struct seep_error err = { 0 };

	if (!process)
		return;
	seep_tui_say(tui, "looking for leaks ...");
	draw(tui);
	if (process->state != SEEP_LIVE_RUNS)
		(void)seep_fail(&err, SEEP_ENOTFOUND, "the process %s", process->fate);
	else if (actions->check_leaks(actions->user, process, &profile, &err) < 0)
		profile = NULL;
	seep_screen_leaks_set(tui, process, profile, err.text);
	tui->page_first = 0;
	show(tui, &seep_screen_leaks);
	seep_tui_say(tui, profile && profile->scan.done ? "leak check done"
							: "the leak check was refused");
}

/* Keys that mean the same on every screen. */
static void common_key(struct seep_tui *tui, int key)
{
	switch (key) {
	case 'q':
		tui->quit = true;
		break;
	case '?':
	case 'h':
		if (tui->screen != &seep_screen_help)
			tui->back = tui->screen;
		show(tui, &seep_screen_help);
		break;
	case SEEP_KEY_BACK:
		show(tui, tui->back && tui->screen != tui->back ? tui->back : &seep_screen_stacks);
		tui->back = &seep_screen_stacks;
		break;
	case '\t':
		next_screen(tui);
		break;
	case '1' ... '0' + SCREENS:
		show(tui, screens[key - '1']);
		break;
	case ' ':
		tui->frozen = !tui->frozen;
		seep_tui_say(tui, tui->frozen ? "frozen: nothing is read" : "reading again");
		break;
	case '+':
	case '-':
		change_interval(tui, key == '+');
		break;
	case '/':
		ask(tui, "show stacks with", set_filter);
		break;
	case 'm':
		ask(tui, "name of the mark (Enter: none)", set_mark);
		break;
	case 'l':
		check_leaks(tui);
		break;
	case 'r':
	case 'R':
		seep_live_reset(tui->live, key == 'R');
		seep_tui_say(tui, key == 'r'
					  ? "changes count from now on; R: from reading to reading"
					  : "changes count from reading to reading");
		break;
	case 's':
		tui->sort = (tui->sort + 1) % SEEP_LIVE_SORTS;
		seep_tui_say(tui, "sorted by %s", seep_live_sort_names[tui->sort]);
		break;
	default:
		break;
	}
}

static void prompt_key(struct seep_tui *tui, int key)
{
	size_t used = strlen(tui->text);

	if (key == SEEP_KEY_ENTER) {
		tui->prompt = NULL;
		tui->typed(tui, tui->text);
	} else if (key == ESCAPE) {
		tui->prompt = NULL;
		seep_tui_say(tui, "nothing was changed");
	} else if (key == SEEP_KEY_BACK) {
		/* A character of several bytes goes as a whole. */
		while (used > 0 && ((unsigned char)tui->text[--used] & 0xc0) == 0x80)
			;
		tui->text[used] = '\0';
	} else if (key >= ' ' && key < 256 && used + 1 < sizeof(tui->text)) {
		tui->text[used] = (char)key;
		tui->text[used + 1] = '\0';
	}
}

static int key_of(const struct seep_tui *tui, int key)
{
	static const struct {
		int from, to;
	} keys[] = {
		{ KEY_UP, SEEP_KEY_UP },	 { KEY_DOWN, SEEP_KEY_DOWN },
		{ KEY_LEFT, SEEP_KEY_LEFT },	 { KEY_RIGHT, SEEP_KEY_RIGHT },
		{ KEY_PPAGE, SEEP_KEY_PAGE_UP }, { KEY_NPAGE, SEEP_KEY_PAGE_DOWN },
		{ KEY_HOME, SEEP_KEY_HOME },	 { KEY_END, SEEP_KEY_END },
		{ KEY_ENTER, SEEP_KEY_ENTER },	 { '\n', SEEP_KEY_ENTER },
		{ '\r', SEEP_KEY_ENTER },	 { KEY_BACKSPACE, SEEP_KEY_BACK },
		{ DELETE, SEEP_KEY_BACK },	 { '\b', SEEP_KEY_BACK },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].from == key)
			return keys[i].to;
	if (key == ESCAPE && !tui->prompt)
		return SEEP_KEY_BACK;
	return key < 256 ? key : 0;
}

/* False: the terminal is gone. */
static bool take_keys(struct seep_tui *tui, int timeout_ms)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	const int ready = poll(&in, 1, timeout_ms);
	bool any = false;
	int key;

	if (ready > 0 && !(in.revents & POLLIN))
		return false;
	while ((key = getch()) != ERR) {
		any = true;
		if (key == KEY_RESIZE) {
			draw(tui);
			continue;
		}
		key = key_of(tui, key);
		/* What other keys are about is not drawn: lists may be of processes that are gone. */
		if (tui->too_small)
			tui->quit |= key == 'q';
		else if (tui->prompt)
			prompt_key(tui, key);
		else if (key && (!tui->screen->key || !tui->screen->key(tui, key)))
			common_key(tui, key);
		/* The next key may be about what is drawn now. */
		draw(tui);
	}
	/* Ready, and nothing to read: the end of the file. */
	if (ready > 0 && !any)
		return false;
	if (ready < 0)
		draw(tui);
	return true;
}

static void loop(struct seep_tui *tui)
{
	const uint64_t begun_ns = seep_monotonic_ns();
	uint64_t next_ns = begun_ns;

	while (!tui->quit && !*tui->options->stopped) {
		const uint64_t now_ns = seep_monotonic_ns();
		uint64_t wait_ns;

		if (tui->options->for_ns && now_ns - begun_ns >= tui->options->for_ns)
			break;
		if (now_ns >= next_ns) {
			if (!tui->frozen && seep_live_runs(tui->live)) {
				seep_live_refresh(tui->live, now_ns);
				if (tui->live->news)
					seep_tui_say(tui, "%s", tui->live->news);
				else if (now_ns > tui->said_ns + SAID_FOR_NS)
					tui->status[0] = '\0';
			}
			draw(tui);
			next_ns = now_ns + tui->interval_ns;
		}
		tui->options->actions.poll(tui->options->actions.user);
		if (next_ns > now_ns + tui->interval_ns)
			next_ns = now_ns + tui->interval_ns;
		wait_ns = next_ns - now_ns;
		if (wait_ns > POLL_MAX_MS * UINT64_C(1000000))
			wait_ns = POLL_MAX_MS * UINT64_C(1000000);
		if (!take_keys(tui, (int)(wait_ns / 1000000) + 1))
			break;
	}
}

/* What a container lacks most often is the locale that is named, not UTF-8. */
static bool choose_locale(void)
{
	const char *name = getenv("LC_ALL");

	if (!name || !*name)
		name = getenv("LC_CTYPE");
	if (!name || !*name)
		name = getenv("LANG");
	if (!setlocale(LC_CTYPE, "") && name && (strstr(name, "UTF-8") || strstr(name, "utf8")))
		(void)setlocale(LC_CTYPE, "C.UTF-8");
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

static void begin_colors(struct seep_tui *tui)
{
	tui->color = seep_terminal_color(STDOUT_FILENO) && has_colors();
	if (!tui->color)
		return;
	(void)start_color();
	(void)use_default_colors();
	(void)init_pair(1, COLOR_RED, -1);
	(void)init_pair(2, COLOR_YELLOW, -1);
	(void)init_pair(3, COLOR_GREEN, -1);
}

int seep_tui_run(struct seep_live *live, const struct seep_tui_options *options,
		 struct seep_error *err)
{
	struct seep_tui tui = {
		.live = live,
		.options = options,
		.screen = &seep_screen_stacks,
		.back = &seep_screen_stacks,
		.interval_ns = options->interval_ns,
		.sort = options->sort,
		.utf8 = choose_locale(),
	};
	SCREEN *screen;

	if (seep_tui_check(err) < 0)
		return -err->code;
	/* initscr() would end us for a terminal that it does not know. */
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return seep_fail(err, SEEP_EUNSUPPORTED,
				 "nothing is known of this terminal (TERM=%s); --once prints a "
				 "table",
				 getenv("TERM"));
	tui.lines = seep_xcalloc(SEEP_TUI_LINES, sizeof(*tui.lines));
	begin_colors(&tui);
	(void)cbreak();
	(void)noecho();
	(void)keypad(stdscr, true);
	(void)nodelay(stdscr, true);
	(void)set_escdelay(ESCAPE_MS);
	(void)curs_set(0);
	loop(&tui);
	(void)endwin();
	delscreen(screen);
	seep_screen_tree_done(&tui);
	seep_lines_done(&tui.page);
	seep_lines_done(&tui.source);
	seep_lines_done(&tui.leaks);
	free(tui.leaks_of);
	free(tui.lines);
	return 0;
}
