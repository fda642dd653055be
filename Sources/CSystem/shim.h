// What neither Swift nor its view of the C library gives: calls of the Linux kernel for file systems, ranges of files, barriers on
// all threads and the growth of mappings, and a hint to the processor's cache.
#pragma once
#ifdef __linux__
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

// Bytes that this process may still write where a path lies; -1 if the path leads nowhere.
static inline long long file_system_available(const char *path) {
    struct statfs status;
    return statfs(path, &status) == 0 ? (long long)status.f_bavail * status.f_bsize : -1;
}

// The number of the type of the file system that a path lies on; 0 if the path leads nowhere.
static inline unsigned long file_system_type(const char *path) {
    struct statfs status;
    return statfs(path, &status) == 0 ? (unsigned long)status.f_type : 0;
}

#ifndef SYS_sync_file_range
#define SYS_sync_file_range -1
#endif

// Lets the device begin to write what a range of a file holds; waits only for room in its queue. 0, or -1 and errno.
static inline int file_range_begin_writing(int descriptor, long long offset, long long count) {
    const unsigned write = 2;
    return (int)syscall(SYS_sync_file_range, descriptor, offset, count, write);
}

// Returns once the device was given what a range of a file holds; durable it is not. 0, or -1 and errno.
static inline int file_range_write(int descriptor, long long offset, long long count) {
    const unsigned wait_before = 1, write = 2, wait_after = 4;
    return (int)syscall(SYS_sync_file_range, descriptor, offset, count, wait_before | write | wait_after);
}

// Grows a mapping, which may move without being copied. Its new address, or MAP_FAILED and errno.
static inline void *mapping_grow(void *mapping, unsigned long bytes, unsigned long new_bytes) {
    const unsigned long may_move = 1;
    return (void *)syscall(SYS_mremap, mapping, bytes, new_bytes, may_move);
}

// Prepares this process for `membarrier_of_process`; 0 where the kernel can do it.
static inline int membarrier_prepare(void) {
    return (int)syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
}

// A full barrier on every thread of this process that runs just now.
static inline int membarrier_of_process(void) {
    return (int)syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}
#else
static inline int membarrier_prepare(void) { return -1; }
static inline int membarrier_of_process(void) { return -1; }
static inline void *mapping_grow(void *mapping, unsigned long bytes, unsigned long new_bytes) { return (void *)-1; }
#endif

// The line will be read soon.
static inline void prefetch_line(const void *address) { __builtin_prefetch(address, 0, 3); }
