import { z } from 'zod';

const NETWORK = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]);

/** An address, or one with the length of a prefix (RFC 4632 §3.1, RFC 4291 §2.3). */
export const isNetwork = (value: string): boolean => NETWORK.safeParse(value).success;
