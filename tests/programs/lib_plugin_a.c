/* SPDX-License-Identifier: MIT */
/* The plugin with small frames; see dlopen_reload. */
#include "plugin_site.h"

PLUGIN_BODY(a, 24)
