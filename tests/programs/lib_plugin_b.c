/* SPDX-License-Identifier: MIT */
/* The plugin with large frames, in the place where the other one was; see dlopen_reload. */
#include "plugin_site.h"

PLUGIN_BODY(b, 88)
