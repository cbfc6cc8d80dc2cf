/* SPDX-License-Identifier: MIT */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/path.h"
#include "base/procfs.h"
#include "base/xalloc.h"

#define TEMP_SUFFIX ".XXXXXX"

enum { FIRST_READ_BYTES = 16 * 1024, NOBODYS_GROUP = 65534 };

int seep_file_read_fd(int fd, const char *name, size_t max_bytes, char **ret_data,
		      size_t *ret_bytes, struct seep_error *err)
{
	size_t capacity = FIRST_READ_BYTES;
	SEEP_FREED char *data = seep_xmalloc(capacity);
	size_t length = 0;
	struct stat st;

	/* One with holes may be larger than anybody would wait for. */
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size > max_bytes)
		return seep_fail(err, SEEP_ELIMIT, "%s is longer than %zu bytes", name, max_bytes);
	for (;;) {
		ssize_t got;

		if (length + 1 >= capacity)
			data = seep_xgrow(data, &capacity, capacity + 1, 1);
		got = read(fd, data + length, capacity - length - 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return seep_fail_errno(err, errno, "cannot read %s", name);
		if (got == 0)
			break;
		length += (size_t)got;
		if (length > max_bytes)
			return seep_fail(err, SEEP_ELIMIT, "%s is longer than %zu bytes", name,
					 max_bytes);
	}
	data[length] = '\0';
	*ret_data = data;
	data = NULL;
	if (ret_bytes)
		*ret_bytes = length;
	return 0;
}

int seep_file_read(const char *path, size_t max_bytes, char **ret_data, size_t *ret_bytes,
		   struct seep_error *err)
{
	SEEP_CLOSED int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0 && errno == ENOENT)
		return seep_fail(err, SEEP_ENOTFOUND, "%s: no such file", path);
	if (fd < 0)
		return seep_fail_errno(err, errno, "cannot open %s", path);
	return seep_file_read_fd(fd, path, max_bytes, ret_data, ret_bytes, err);
}

long seep_file_read_start(const char *path, char *buffer, size_t max)
{
	SEEP_CLOSED int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	size_t length = 0;
	ssize_t got = -1;

	while (fd >= 0 && length < max - 1) {
		got = read(fd, buffer + length, max - 1 - length);
		if (got <= 0 && !(got < 0 && errno == EINTR))
			break;
		length += got > 0 ? (size_t)got : 0;
	}
	buffer[length] = '\0';
	return got < 0 && length == 0 ? -1 : (long)length;
}

/* As the kernel has it: of this thread only, which libc's would do to all. */
static bool set_groups(int count, const gid_t *groups, gid_t own)
{
	(void)setfsgid(own);
	return syscall(SYS_setgroups, (size_t)count, groups) == 0;
}

int seep_file_open_regular(const char *path, uid_t reader)
{
	const bool is_other = reader != geteuid();
	const int group_count = is_other ? getgroups(0, NULL) : 0;
	SEEP_FREED gid_t *groups = seep_xcalloc((size_t)group_count, sizeof(*groups));
	const uid_t before = (uid_t)setfsuid(reader);
	const bool has_groups = is_other && getgroups(group_count, groups) == group_count;
	int fd = -1, problem, place;
	struct stat st;

	if (has_groups && !set_groups(0, NULL, NOBODYS_GROUP) && geteuid() == 0) {
		/* Nobody's rights but ours can be had. */
		(void)setfsuid(before);
		(void)setfsgid(getegid());
		errno = EPERM;
		return -1;
	}
	place = open(path, O_PATH | O_CLOEXEC);
	problem = errno;
	if (place >= 0 && fstat(place, &st) == 0 && !S_ISREG(st.st_mode)) {
		problem = ENODEV;
	} else if (place >= 0) {
		fd = open(seep_procfs_fd(place).text, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		problem = errno;
	}
	(void)setfsuid(before);
	if (has_groups)
		(void)set_groups(group_count, groups, getegid());
	if (place >= 0)
		(void)close(place);
	errno = problem;
	return fd;
}

int seep_folder_each(int dir_fd, void (*each)(int dir_fd, const char *name, void *context),
		     void *context, struct seep_error *err)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;

	if (!dir) {
		int rc = seep_fail_errno(err, errno, "cannot read the folder");

		if (fd >= 0)
			(void)close(fd);
		return rc;
	}
	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			each(dir_fd, entry->d_name, context);
	(void)closedir(dir);
	return 0;
}

/* The path of @path's last component in that folder; @path itself for AT_FDCWD. */
static char *path_in(int folder_fd, const char *path)
{
	return folder_fd == AT_FDCWD
		       ? seep_xstrdup(path)
		       : seep_xasprintf("/proc/self/fd/%d/%s", folder_fd, seep_path_base(path));
}

int seep_folder_open_own(int folder_fd, const char *path, int *ret_fd, struct seep_error *err)
{
	SEEP_FREED char *place = path_in(folder_fd, path);
	SEEP_CLOSED int fd = -1;
	struct stat st;

	if (mkdir(place, 0700) < 0 && errno != EEXIST)
		return seep_fail_errno(err, errno, "cannot make the folder %s", path);
	fd = open(place, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
		return seep_fail(err, SEEP_EUNSUPPORTED, "%s is not a folder but a link or a file",
				 path);
	if (fd < 0 || fstat(fd, &st) < 0)
		return seep_fail_errno(err, errno, "cannot open %s", path);
	if (st.st_uid != geteuid())
		return seep_fail(err, SEEP_EUNSUPPORTED, "%s belongs to user %u, not to user %u",
				 path, (unsigned)st.st_uid, (unsigned)geteuid());
	*ret_fd = fd;
	fd = -1;
	return 0;
}

bool seep_file_next_data(int fd, uint64_t *from, uint64_t *ret_to)
{
	const off_t data = lseek(fd, (off_t)*from, SEEK_DATA);
	const off_t hole = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);

	if (hole <= data)
		return false;
	*from = (uint64_t)data;
	*ret_to = (uint64_t)hole;
	return true;
}

uint64_t seep_file_held_bytes(const char *path)
{
	SEEP_CLOSED int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	uint64_t held = 0, from = 0, to;

	for (; fd >= 0 && seep_file_next_data(fd, &from, &to); from = to)
		held += to - from;
	return held;
}

int seep_target_look(const char *path, enum seep_target *ret_target, struct seep_error *err)
{
	struct stat st;

	*ret_target = SEEP_TARGET_FREE;
	if (lstat(path, &st) != 0)
		return errno == ENOENT ? 0 : seep_fail_errno(err, errno, "cannot write %s", path);
	*ret_target = S_ISREG(st.st_mode)   ? SEEP_TARGET_FILE
		      : S_ISLNK(st.st_mode) ? SEEP_TARGET_LINK
					    : SEEP_TARGET_OTHER;
	return 0;
}

static void release(struct seep_atomic_file *file)
{
	if (file->stream)
		(void)fclose(file->stream);
	free(file->name);
	free(file->path);
	free(file->temp_path);
	*file = (struct seep_atomic_file){ 0 };
}

/* A file without a name: nothing stays of it if we are killed. Not every file system has them. */
static int open_unnamed(const char *path, mode_t mode, char **ret_temp_path)
{
	SEEP_FREED char *folder = seep_path_folder(path);
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, mode);

	if (fd < 0)
		return -1;
	*ret_temp_path = seep_xstrdup(seep_procfs_fd(fd).text);
	if (access(*ret_temp_path, F_OK) == 0)
		return fd;
	free(*ret_temp_path);
	(void)close(fd);
	return -1;
}

/* Opens @file->temp_path. Returns the descriptor, or -1 with errno set. */
static int open_temp(struct seep_atomic_file *file, const char *path, mode_t mode)
{
	int fd = open_unnamed(path, mode, &file->temp_path);

	file->is_unnamed = fd >= 0;
	if (fd >= 0)
		return fd;
	file->temp_path = seep_path_with_suffix(path, 0, TEMP_SUFFIX);
	return mkostemp(file->temp_path, O_CLOEXEC);
}

static void remove_temp(const struct seep_atomic_file *file)
{
	if (file->temp_path && !file->is_unnamed)
		(void)unlink(file->temp_path);
}

int seep_atomic_open(int folder_fd, const char *path, mode_t mode,
		     struct seep_atomic_file *ret_file, struct seep_error *err)
{
	struct seep_atomic_file file = { .path = path_in(folder_fd, path) };
	int fd = open_temp(&file, file.path, mode);

	file.stream = fd >= 0 && fchmod(fd, mode) == 0 ? fdopen(fd, "w") : NULL;
	if (!file.stream) {
		int rc = seep_fail_errno(err, errno, "cannot write to the folder of %s", path);

		if (fd >= 0) {
			(void)close(fd);
			remove_temp(&file);
		}
		release(&file);
		return rc;
	}
	file.name = seep_xstrdup(path);
	*ret_file = file;
	return 0;
}

int seep_output_open(const char *path, struct seep_atomic_file *ret_file, struct seep_error *err)
{
	enum seep_target target;
	int rc, fd;

	*ret_file = (struct seep_atomic_file){ 0 };
	rc = seep_target_look(path, &target, err);
	if (rc < 0)
		return rc;
	if (target == SEEP_TARGET_FREE || target == SEEP_TARGET_FILE)
		return seep_atomic_open(AT_FDCWD, path, 0600, ret_file, err);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0600);
	ret_file->stream = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (!ret_file->stream) {
		rc = seep_fail_errno(err, errno, "cannot write %s", path);
		if (fd >= 0)
			(void)close(fd);
		return rc;
	}
	ret_file->name = seep_xstrdup(path);
	return 0;
}

/* Gives the finished file a name beside its own, for the moment up to the rename. 0 or an errno. */
static int name_temp(struct seep_atomic_file *file)
{
	SEEP_FREED char *name = seep_path_with_suffix(file->path, 0, TEMP_SUFFIX);
	int fd = mkostemp(name, O_CLOEXEC);

	if (fd < 0)
		return errno;
	/* It was to find a free name; linkat() does not replace. */
	(void)close(fd);
	(void)unlink(name);
	if (linkat(AT_FDCWD, file->temp_path, AT_FDCWD, name, AT_SYMLINK_FOLLOW) != 0)
		return errno;
	free(file->temp_path);
	file->temp_path = name;
	name = NULL;
	file->is_unnamed = false;
	return 0;
}

/* Returns 0 or an errno. */
static int give_name(const struct seep_atomic_file *file)
{
	if (!file->keep_old)
		return rename(file->temp_path, file->path) == 0 ? 0 : errno;
	if (!file->is_unnamed &&
	    renameat2(AT_FDCWD, file->temp_path, AT_FDCWD, file->path, RENAME_NOREPLACE) == 0)
		return 0;
	/* A file system without that flag; network file systems are. */
	if (!file->is_unnamed && errno != EINVAL && errno != ENOSYS)
		return errno;
	/* Of one that is unnamed no name in between, which a kill could leave behind. */
	if (linkat(AT_FDCWD, file->temp_path, AT_FDCWD, file->path, AT_SYMLINK_FOLLOW) != 0)
		return errno;
	remove_temp(file);
	return 0;
}

int seep_atomic_commit(struct seep_atomic_file *file, struct seep_error *err)
{
	bool is_named;
	int saved = 0;
	int ret = 0;

	/* A full disk shows first at the flush; a network disk's shows first at the close. */
	if (fflush(file->stream) != 0 || (file->temp_path && fsync(fileno(file->stream)) != 0))
		saved = errno;
	else if (ferror(file->stream))
		saved = errno ? errno : EIO; /* most likely of the write that failed */
	else if (file->is_unnamed)
		saved = file->keep_old ? give_name(file) : name_temp(file);
	is_named = file->is_unnamed && !saved;
	if (fclose(file->stream) != 0 && !saved)
		saved = errno;
	file->stream = NULL;
	if (!saved && !is_named && file->temp_path)
		saved = give_name(file);
	if (saved && is_named)
		(void)unlink(file->path);
	else if (saved)
		remove_temp(file);
	if (saved == EEXIST && file->keep_old)
		ret = seep_fail(err, SEEP_EEXIST,
				"something else created %s in the meantime; it was not replaced",
				file->name);
	else if (saved)
		ret = seep_fail_errno(err, saved, "cannot write %s", file->name);
	release(file);
	return ret;
}

void seep_atomic_abandon(struct seep_atomic_file *file)
{
	remove_temp(file);
	release(file);
}
