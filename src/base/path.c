/* SPDX-License-Identifier: MIT */
#include "base/path.h"

#include <string.h>

const char *seep_path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}
