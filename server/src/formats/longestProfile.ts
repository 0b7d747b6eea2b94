/**
 * Bytes of a cluster profile or a framework description. They are a few kilobytes; one of a megabyte would keep whoever checks
 * it busy for half a second, and one of 65 MB fill the memory.
 */
export const longestProfile = 256 * 2 ** 10;
