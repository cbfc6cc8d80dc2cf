/* SPDX-License-Identifier: MIT */
#include "export/export.h"

#define EXPORTER(id, file_suffix, is_binary, by, says, what, text) \
	{ .name = #id,                                             \
	  .suffix = (file_suffix),                                 \
	  .binary = (is_binary),                                   \
	  .heeds_by = (by),                                        \
	  .says_estimates = (says),                                \
	  .needs = (what),                                         \
	  .summary = (text),                                       \
	  .write = seep_export_##id },
#define NAME(id, ...) #id,

const struct seep_exporter seep_exporters[SEEP_EXPORTER_COUNT] = { SEEP_EXPORTERS(EXPORTER) };
const char *const seep_exporter_names[SEEP_EXPORTER_COUNT + 1] = { SEEP_EXPORTERS(NAME) NULL };
