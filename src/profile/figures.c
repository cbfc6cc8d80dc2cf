/* SPDX-License-Identifier: MIT */
#include "profile/figures.h"

const char *const seep_figure_names[SEEP_FIGURE_COUNT] = {
#define NAME(name, since, comment) [SEEP_FIGURE_##name] = #name,
	SEEP_FIGURES(NAME)
#undef NAME
};
