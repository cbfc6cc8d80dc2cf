/* SPDX-License-Identifier: MIT */
#include "cli/symbol_options.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/keep.h"
#include "base/procfs.h"
#include "base/progress.h"
#include "base/xalloc.h"
#include "profile/context_hash.h"
#include "profile/symbolise.h"
#include "recording/recording.h"
#include "symbol/debuginfod.h"

static int check_dir(const char *dir, struct seep_error *err)
{
	SEEP_FREED char *inside = seep_xasprintf("%s/.", dir);

	return access(inside, X_OK) == 0
		       ? 0
		       : seep_fail(err, SEEP_EUSAGE, "--symbols %s: %s", dir, strerror(errno));
}

/* Now, rather than when the program has run. */
static int check_debuginfod(struct seep_error *err)
{
	struct seep_debuginfod *client = NULL;
	int rc = seep_debuginfod_new(&client, err);

	if (rc < 0)
		seep_error_prefix(err, "--debuginfod");
	seep_debuginfod_free(client);
	return rc;
}

/* The root of another process, through a descriptor that stays; "": as ours. */
static struct seep_procfs_path other_root;

/* Of two links or folders in /proc. */
static bool differs(uint32_t pid, const char *file)
{
	struct stat its, ours;

	return stat(seep_procfs_path((pid_t)pid, file).text, &its) == 0 &&
	       stat(seep_procfs_path(getpid(), file).text, &ours) == 0 &&
	       (its.st_dev != ours.st_dev || its.st_ino != ours.st_ino);
}

void seep_symbol_options_see(uint32_t pid)
{
	int fd = -1;

	if (differs(pid, "ns/mnt") || differs(pid, "root"))
		fd = open(seep_procfs_path((pid_t)pid, "root").text, O_PATH | O_CLOEXEC);
	if (fd >= 0)
		other_root = seep_procfs_fd(fd);
}

/* What is asked for, and that root. It lives as long as we do. */
static const char *const *with_root(const struct seep_option_list *dirs)
{
	const char **all = seep_xcalloc(dirs->count + 1, sizeof(*all));

	for (size_t i = 0; i < dirs->count; i++)
		all[i] = dirs->items[i];
	all[dirs->count] = other_root.text;
	return all;
}

int seep_symbol_options_read(const struct seep_symbol_option_values *values,
			     struct seep_symbols_options *ret, struct seep_error *err)
{
	for (size_t i = 0; i < values->dirs.count; i++) {
		int rc = check_dir(values->dirs.items[i], err);

		if (rc < 0)
			return rc;
	}
	*ret = (struct seep_symbols_options){ .debug_dirs = values->dirs.items,
					      .debug_dir_count = values->dirs.count,
					      .debuginfod = values->debuginfod };
	if (*other_root.text) {
		ret->debug_dirs = with_root(&values->dirs);
		ret->debug_dir_count++;
	}
	return values->debuginfod ? check_debuginfod(err) : 0;
}

int seep_symbol_options_name(const struct seep_symbol_option_values *values,
			     struct seep_profile *profile, struct seep_error *err)
{
	struct seep_symbols_options wanted;
	struct seep_progress progress;
	struct seep_symbols *symbols = NULL;
	int ret = seep_symbol_options_read(values, &wanted, err);

	if (ret < 0 || (profile->symbolised && wanted.debug_dir_count == 0 && !wanted.debuginfod))
		return ret;
	ret = seep_symbols_new(&wanted, &symbols, err);
	if (ret < 0)
		return ret;
	seep_progress_start(&progress, "looking up names");
	ret = seep_profile_symbolise(profile, symbols, true, &progress, err);
	seep_progress_done(&progress);
	seep_symbols_free(symbols);
	return ret;
}

int seep_symbol_options_open(const struct seep_symbol_option_values *values, const char *path,
			     struct seep_profile **ret_profile, struct seep_error *err)
{
	SEEP_RELEASED(seep_profile_free_at) struct seep_profile *profile = NULL;
	int ret = seep_profile_open(path, &profile, err);

	if (ret == 0)
		ret = seep_symbol_options_name(values, profile, err);
	if (ret < 0)
		return ret;
	seep_profile_hash_contexts(profile);
	seep_keep_allocations(profile);
	*ret_profile = profile;
	profile = NULL;
	return 0;
}
