/* SPDX-License-Identifier: MIT */
/*
 * squeeze COMMAND…
 *
 * Does in order what it is told, and between that allocates from ever new call stacks:
 *   work N        N blocks, half of them kept; their contents are checked
 *   close         close_range(3, ~0)
 *   file PATH     write and read back a file of its own, through the lowest free descriptor
 *   fill PATH     a file as large as the file system lets it become
 *   chroot DIR    and chdir("/")
 *   setuid        become nobody
 *   as|nofile|fsize N   lower the resource limit; as: N bytes above what is mapped now
 *   fork N        a child that works N, waited for
 *   segv|abort    die of it
 * Prints a checksum and what it allocated in counted(), the only function that allocates; on stderr
 * who it is and who its children are.
 */
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KEPT = 4096, PATHS = 8 };

struct block {
	unsigned char *at;
	size_t bytes;
	pid_t pid; /* who allocated it: what a child frees of its parent's is not its own free */
};

static uint64_t allocs, bytes_total, frees, checksum, state = 88172645463325252u;
static struct block kept[KEPT];
static pid_t own_pid;
static volatile char *volatile nowhere;

static void die(const char *what)
{
	perror(what);
	exit(3);
}

static uint32_t draw(uint32_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)((state >> 32) * below >> 32);
}

__attribute__((noipa)) static void counted(struct block *b)
{
	if (b->at) {
		if (b->at[0] != (b->bytes & 0xff) || b->at[b->bytes - 1] != (b->bytes & 0xff))
			_exit(4);
		free(b->at);
		frees += b->pid == own_pid;
	}
	b->pid = own_pid;
	b->bytes = 1 + draw(draw(50) ? 300 : 20000);
	b->at = malloc(b->bytes);
	if (!b->at)
		die("malloc");
	memset(b->at, (int)(b->bytes & 0xff), b->bytes);
	allocs++;
	bytes_total += b->bytes;
	checksum = checksum * 31 + b->bytes;
}

static void step(uint32_t route, int depth, struct block *b);

#define PATH(n)                                                                                 \
	__attribute__((noipa)) static void path_##n(uint32_t route, int depth, struct block *b) \
	{                                                                                       \
		step(route, depth, b);                                                          \
		__asm__ volatile("" ::"i"(n) : "memory");                                       \
	}

PATH(0)
PATH(1)
PATH(2)
PATH(3)
PATH(4)
PATH(5)
PATH(6)
PATH(7)

__attribute__((noipa)) static void step(uint32_t route, int depth, struct block *b)
{
	static void (*const paths[PATHS])(uint32_t, int, struct block *) = {
		path_0, path_1, path_2, path_3, path_4, path_5, path_6, path_7,
	};

	if (depth == 0)
		counted(b);
	else
		paths[route % PATHS](route / PATHS, depth - 1, b);
	__asm__ volatile("" ::: "memory");
}

static void work(const char *count)
{
	for (unsigned long i = strtoul(count, NULL, 0); i > 0; i--)
		step(draw(UINT32_MAX), 2 + (int)draw(8), &kept[draw(KEPT)]);
}

static void close_all(void)
{
	if (close_range(3, ~0u, 0))
		die("close_range");
}

static void own_file(const char *path)
{
	char back[6] = "";
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (fd < 0)
		die(path);
	for (int i = 0; i < 1000; i++)
		if (pwrite(fd, "hello\n", 6, i * 6) != 6)
			die("pwrite");
	if (lseek(fd, 0, SEEK_END) != 6000 || pread(fd, back, 6, 5994) != 6 ||
	    memcmp(back, "hello\n", 6) != 0)
		_exit(5);
	printf("descriptor %d\n", fd);
	if (close(fd))
		die("close");
}

static void fill(const char *path)
{
	static char page[4096];
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0)
		die(path);
	while (write(fd, page, sizeof(page)) > 0)
		continue;
	if (close(fd))
		die("close");
}

static void change_root(const char *directory)
{
	if (chroot(directory) || chdir("/"))
		die("chroot");
}

static void become_nobody(void)
{
	if (setgroups(0, NULL) || setgid(65534) || setuid(65534))
		die("setuid");
}

static rlim_t mapped_now(void)
{
	char text[64] = "";
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0 || close(fd))
		die("/proc/self/statm");
	return strtoul(text, NULL, 10) * 4096;
}

static void limit(const char *what, const char *amount)
{
	struct rlimit r;

	r.rlim_cur = r.rlim_max = strtoul(amount, NULL, 0);
	if (strcmp(what, "as") == 0)
		r.rlim_cur = r.rlim_max = r.rlim_max + mapped_now();
	if (setrlimit(strcmp(what, "as") == 0	    ? RLIMIT_AS
		      : strcmp(what, "nofile") == 0 ? RLIMIT_NOFILE
						    : RLIMIT_FSIZE,
		      &r))
		die("setrlimit");
}

static void print_truth(const char *who)
{
	printf("%s checksum %016llx\n", who, (unsigned long long)checksum);
	printf("truth %s allocs=%llu bytes=%llu frees=%llu\n", who, (unsigned long long)allocs,
	       (unsigned long long)bytes_total, (unsigned long long)frees);
	fflush(stdout);
}

static void fork_child(const char *count)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		allocs = bytes_total = frees = 0;
		own_pid = getpid();
		fprintf(stderr, "child %d\n", own_pid);
		work(count);
		print_truth("child");
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		_exit(6);
}

static void die_of(int signal_number)
{
	fflush(stdout);
	if (signal_number == SIGABRT)
		abort();
	*nowhere = 1;
}

int main(int argc, char **argv)
{
	static char buffer[4096];

	own_pid = getpid();
	fprintf(stderr, "main %d\n", own_pid);
	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	for (int i = 1; i < argc; i++) {
		const char *command = argv[i];
		const char *value = i + 1 < argc ? argv[i + 1] : "";

		if (strcmp(command, "close") == 0) {
			close_all();
			continue;
		}
		if (strcmp(command, "setuid") == 0) {
			become_nobody();
			continue;
		}
		if (strcmp(command, "segv") == 0 || strcmp(command, "abort") == 0) {
			print_truth("main");
			die_of(command[0] == 's' ? SIGSEGV : SIGABRT);
		}
		i++;
		if (strcmp(command, "work") == 0)
			work(value);
		else if (strcmp(command, "file") == 0)
			own_file(value);
		else if (strcmp(command, "fill") == 0)
			fill(value);
		else if (strcmp(command, "chroot") == 0)
			change_root(value);
		else if (strcmp(command, "fork") == 0)
			fork_child(value);
		else
			limit(command, value);
	}
	print_truth("main");
	return 0;
}
