import { isIP } from 'node:net';
import { z } from 'zod';

/** What values of the configuration look like. */

export const HOST_NAME = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i;

/** A text that passes the test, or the sentence saying what to write instead. */
export const text = (isRight: (value: string) => boolean, remedy: string) => z.string().refine(isRight, remedy);

const hasProtocol = (value: string, ...protocols: readonly string[]): boolean =>
  protocols.includes(URL.parse(value)?.protocol ?? '');

export const url = (remedy: string, ...protocols: readonly string[]) =>
  text((value) => hasProtocol(value, ...protocols), remedy).optional();

export const port = (example: number) =>
  text(
    (value) => /^\d{1,5}$/.test(value) && Number(value) <= 65_535,
    `set a port from 0 to 65535, such as ${example}`,
  ).transform(Number);

export const list = (value: string): readonly string[] =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');

export const listOf = (isRight: (item: string) => boolean, remedy: string) =>
  z
    .string()
    .default('')
    .transform(list)
    .refine((items) => items.every(isRight), remedy);

/** No URL as the platform understands it: a cluster's names several hosts. */
export const EVENT_STORE = /^(?:esdb|kurrentdb)(?:\+discover)?:\/\/[^/?]/;

export const isHost = (value: string): boolean => isIP(value) !== 0 || HOST_NAME.test(value);
export const isSmarthost = (value: string): boolean =>
  hasProtocol(value, 'smtp:', 'smtps:') && new URL(value).hostname !== '';
