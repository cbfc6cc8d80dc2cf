/* SPDX-License-Identifier: MIT */
/*
 * serves_files FOLDER UID: serves a file system of its own on FOLDER (FUSE), in a mount namespace of
 * its own, in which all is found and nothing is ever read: who tries waits until this process ends.
 * Maps a file of it, becomes UID, prints "." and waits for its input to end. Status 77: no FUSE here.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_BYTES = 1 << 16, REQUEST_MAX = 1 << 18 };

static struct fuse_attr attributes(uint64_t node)
{
	return (struct fuse_attr){
		.ino = node,
		.size = FILE_BYTES,
		.mode = node == FUSE_ROOT_ID ? S_IFDIR | 0755 : S_IFREG | 0644,
		.nlink = 1,
		.blksize = 4096,
	};
}

static void answer(int fuse, const struct fuse_in_header *in, const void *what, size_t bytes)
{
	char buffer[512];
	const struct fuse_out_header out = { .len = (uint32_t)(sizeof(out) + bytes),
					     .error = bytes ? 0 : -ENOSYS,
					     .unique = in->unique };

	memcpy(buffer, &out, sizeof(out));
	memcpy(buffer + sizeof(out), what, bytes);
	(void)!write(fuse, buffer, out.len);
}

static void serve(int fuse)
{
	static char request[REQUEST_MAX];
	const struct fuse_in_header *in = (void *)request;
	const struct fuse_init_in *init = (void *)(in + 1);

	while (read(fuse, request, sizeof(request)) > 0 || errno == EINTR) {
		const struct fuse_entry_out entry = {
			.nodeid = 2, .attr = attributes(2), .entry_valid = 3600, .attr_valid = 3600
		};
		const struct fuse_attr_out attr = { .attr_valid = 3600,
						    .attr = attributes(in->nodeid) };
		const struct fuse_open_out opened = { 0 };

		switch (in->opcode) {
		case FUSE_INIT: {
			/* Reads are not asynchronous: who waits for one cannot be killed. */
			const struct fuse_init_out out = { .major = 7,
							   .minor = init->minor,
							   .max_write = 1 << 16,
							   .time_gran = 1 };

			answer(fuse, in, &out, sizeof(out));
			break;
		}
		case FUSE_LOOKUP:
			answer(fuse, in, &entry, sizeof(entry));
			break;
		case FUSE_GETATTR:
			answer(fuse, in, &attr, sizeof(attr));
			break;
		case FUSE_OPEN:
			answer(fuse, in, &opened, sizeof(opened));
			break;
		case FUSE_READ:
			break;
		default:
			answer(fuse, in, "", 0);
		}
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	const int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char *volatile block = malloc(100);
	char options[128], path[4096], byte;
	uid_t uid;
	int file;

	(void)block;
	if (argc < 3)
		return 2;
	uid = (uid_t)atoi(argv[2]);
	(void)snprintf(options, sizeof(options),
		       "fd=%d,rootmode=40000,user_id=%u,group_id=%u,allow_other", fuse, uid, uid);
	(void)snprintf(path, sizeof(path), "%s/file", argv[1]);
	if (fuse < 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("served", argv[1], "fuse", MS_NOSUID | MS_NODEV, options) < 0)
		return 77;
	if (fork() == 0) {
		(void)!setresuid(uid, uid, uid);
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve(fuse);
	}
	file = open(path, O_RDONLY);
	if (file < 0 ||
	    mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0) == MAP_FAILED ||
	    setresuid(uid, uid, uid) < 0)
		return 2;
	(void)prctl(PR_SET_DUMPABLE, 1);
	(void)!write(1, ".", 1);
	while (read(0, &byte, 1) > 0)
		;
	_exit(0);
}
