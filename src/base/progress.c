/* SPDX-License-Identifier: MIT */
#include "base/progress.h"

#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"

#define QUIET_NS SEEP_NS_PER_S
#define REDRAW_NS (SEEP_NS_PER_S / 10)

static atomic_bool silenced;

void seep_progress_silence(bool silent)
{
	atomic_store_explicit(&silenced, silent, memory_order_relaxed);
}

void seep_progress_start(struct seep_progress *progress, const char *what)
{
	*progress = (struct seep_progress){
		.what = what,
		.next_ns = seep_clock_ns(CLOCK_MONOTONIC_COARSE) + QUIET_NS,
		.enabled = !atomic_load_explicit(&silenced, memory_order_relaxed) &&
			   isatty(STDERR_FILENO),
	};
}

void seep_progress_step(struct seep_progress *progress, uint64_t done)
{
	uint64_t now;

	if (!progress->enabled)
		return;
	now = seep_clock_ns(CLOCK_MONOTONIC_COARSE);
	if (now < progress->next_ns)
		return;
	progress->next_ns = now + REDRAW_NS;
	progress->drawn = true;
	if (progress->total)
		(void)fprintf(stderr, "\r\033[K%s: %s of %s (%s)", progress->what,
			      seep_count_text(done).text, seep_count_text(progress->total).text,
			      seep_percent_text(done, progress->total).text);
	else
		(void)fprintf(stderr, "\r\033[K%s: %s", progress->what, seep_count_text(done).text);
	(void)fflush(stderr);
}

void seep_progress_done(struct seep_progress *progress)
{
	if (!progress->drawn)
		return;
	(void)fputs("\r\033[K", stderr);
	(void)fflush(stderr);
	progress->drawn = false;
}
