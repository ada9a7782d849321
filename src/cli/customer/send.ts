import { randomUUID } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { basename } from 'node:path';
import { type Invocation, optional, repeated, type ServiceCommand } from '../command.ts';
import { CommandFailed, UsageError } from '../failures.ts';
import { readStdin } from '../terminal.ts';
import type { Service } from './service.ts';

/** Sends one message. The service validates it and names the invalid fields. */

/** Larger than any body or attachment that the service accepts. */
const FILE_BYTES_MAX = 40_000_000;
const STDIN = '-';

const tooLarge = (path: string): CommandFailed => new CommandFailed(`${path} is larger than ${FILE_BYTES_MAX} bytes`);

/** Reads a pipe, whose size is unknown in advance. */
const bytesOf = async (file: FileHandle, path: string): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of file.createReadStream({ autoClose: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > FILE_BYTES_MAX) throw tooLarge(path);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};

const readFileOf = async (path: string): Promise<Buffer> => {
  const file = await open(path).catch((error: NodeJS.ErrnoException) => {
    throw new CommandFailed(`${path} cannot be read (${error.code ?? 'unknown'})`);
  });
  try {
    const stats = await file.stat();
    // Process substitution, `<(…)`, passes a pipe.
    if (!stats.isFile() && !stats.isFIFO()) throw new CommandFailed(`${path} is no file`);
    if (stats.size > FILE_BYTES_MAX) throw tooLarge(path);
    return stats.isFile() ? await file.readFile() : await bytesOf(file, path);
  } finally {
    await file.close();
  }
};

/** @throws {CommandFailed} if the file is not UTF-8: decoding it would change the text that is sent. */
const textIn = async (path: string): Promise<string> => {
  const bytes = path === STDIN ? await readStdin() : await readFileOf(path);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new CommandFailed(`${path === STDIN ? 'standard input' : path} is not UTF-8`);
  }
};

const jsonIn = async (path: string, option: string): Promise<Readonly<Record<string, unknown>>> => {
  const text = await textIn(path);
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  } catch {
    // reported below
  }
  throw new CommandFailed(`--${option}: ${path === STDIN ? 'standard input' : path} is no JSON object`);
};

/** Splits `name:value`. The service validates both. */
const tagOf = (text: string) => {
  const colon = text.indexOf(':');
  if (colon < 1) throw new UsageError(`--tag ${text}: a tag is written name:value`);
  return { name: text.slice(0, colon), value: text.slice(colon + 1) };
};

const attachmentOf = async (path: string) => ({
  filename: basename(path),
  content: (await readFileOf(path)).toString('base64'),
});

const templateOf = async (invocation: Invocation) => {
  const id = optional(invocation, 'template');
  const variables = optional(invocation, 'variables');
  if (id === undefined) return undefined;
  return { id, ...(variables === undefined ? {} : { variables: await jsonIn(variables, 'variables') }) };
};

/** Only one option can read standard input. @throws {UsageError} */
const requireOneStdin = (invocation: Invocation): void => {
  const taking = ['body', 'html', 'text', 'variables'].filter((name) => optional(invocation, name) === STDIN);
  if (taking.length > 1) throw new UsageError(`only one of ${taking.map((name) => `--${name}`).join(', ')} can be -`);
};

/** Builds the request body. */
const bodyOf = async (invocation: Invocation): Promise<object> => {
  requireOneStdin(invocation);
  const [body, html, text] = ['body', 'html', 'text'].map((name) => optional(invocation, name));
  const list = (name: string): readonly string[] | undefined => repeated(invocation, name);
  const given = {
    from: optional(invocation, 'from'),
    to: list('to'),
    cc: list('cc'),
    bcc: list('bcc'),
    reply_to: list('reply-to'),
    subject: optional(invocation, 'subject'),
    html: html === undefined ? undefined : await textIn(html),
    text: text === undefined ? undefined : await textIn(text),
    template: await templateOf(invocation),
    attachments: list('attach') && (await Promise.all((list('attach') ?? []).map(attachmentOf))),
    tags: list('tag')?.map(tagOf),
    stream: optional(invocation, 'stream'),
    scheduled_at: optional(invocation, 'at'),
  };
  const fields = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...(body === undefined ? {} : await jsonIn(body, 'body')), ...Object.fromEntries(fields) };
};

/** Describes the next step, if the key is allowed to read it. */
const nextOf = async ({ ask }: Service, id: string): Promise<string> => {
  const path = `/v1/messages/${id}/explain`;
  const explained = await ask<{ summary: string }>('GET', path).catch(() => undefined);
  return explained?.body.summary ?? `\`outbox messages explain ${id}\` tells, with a key that may read`;
};

interface SendResponse {
  readonly id: string;
  readonly status: string;
}

export const sendCommand: ServiceCommand = {
  name: 'send',
  usage:
    '[--from ADDRESS] [--to ADDRESS,…] [--cc ADDRESS,…] [--bcc ADDRESS,…] [--reply-to ADDRESS,…] [--subject TEXT] [--html FILE|-] [--text FILE|-] [--template ALIAS] [--variables FILE|-] [--attach FILE,…] [--tag NAME:VALUE,…] [--stream transactional|bulk] [--at TIME] [--body FILE|-] [--idempotency-key KEY]',
  summary:
    'sends a message; - is standard input, --body is the JSON of POST /v1/messages/send; repeat an option for each value',
  needs: 'service',
  run: async (service, invocation, { json }) => {
    const idempotencyKey = optional(invocation, 'idempotency-key') ?? randomUUID();
    const body = await bodyOf(invocation);
    const { body: sent } = await service.ask<SendResponse>('POST', '/v1/messages/send', { body, idempotencyKey });
    return json ? { ...sent } : { id: sent.id, status: sent.status, next: await nextOf(service, sent.id) };
  },
};
