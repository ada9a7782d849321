import { gzipSync } from 'node:zlib';
import type { OpenApi, OpenApiOperation } from '../../support/openapi/document.ts';
import { type Sampler, sampler } from './from-schema.ts';
import { hostileText, hostileValue } from './hostile.ts';
import type { KnownThings } from './known-things.ts';
import { mutate } from './mutate.ts';
import type { Random } from './random.ts';

const ID = /^([a-z]{3})_[a-z2-7]{26}$/;
const DAY_MS = 86_400_000;
/** No server listens there, so webhooks to it fail immediately. */
const LISTENER = 'http://127.0.0.1:9/hook';

export interface Body {
  readonly type: string | undefined;
  readonly encoding?: string;
  readonly bytes: Buffer;
}

const soon = (random: Random): string => new Date(Date.now() + (1 + random.int(29)) * DAY_MS).toISOString();

/** A value that the service accepts for a field of this name. */
const valueFor =
  (known: KnownThings, random: Random) =>
  (name: string, prefix: string | undefined): unknown => {
    const fields: Readonly<Record<string, () => unknown>> = {
      from: () => 'Shop <hello@example.test>',
      to: () => random.pick(['ann@example.net', 'Bob <bob@example.org>', 'bounced@sandbox.outbox.test']),
      cc: () => 'carol@example.net',
      bcc: () => 'dave@example.net',
      html: () => random.pick(['<p>Hello</p>', '<b>x', '<div><p>x</p></div>']),
      url: () => LISTENER,
      domain_id: () => known.id(random, 'dom', false),
      scheduled_at: () => soon(random),
      expires_at: () => soon(random),
      after: () => known.cursor(random),
      wait: () => random.pick(['0', '1']),
      name: () => `d${random.int(1_000_000)}.test`,
    };
    return prefix === undefined ? fields[name]?.() : known.id(random, prefix, false);
  };

export const samplerOf = (document: OpenApi, known: KnownThings, random: Random): Sampler =>
  sampler(document, random, valueFor(known, random));

/** Fills an example with ids, times and addresses of this run. */
const filledIn = (value: unknown, known: KnownThings, random: Random): unknown =>
  JSON.parse(JSON.stringify(value), (name, one) => {
    if (name === 'scheduled_at') return soon(random);
    if (name === 'url') return LISTENER;
    const prefix = typeof one === 'string' ? ID.exec(one)?.[1] : undefined;
    return prefix === undefined ? one : known.id(random, prefix, false);
  });

const mutated = (value: unknown, random: Random): unknown => {
  let result = value;
  for (let left = random.pick([0, 0, 1, 1, 2, 3]); left > 0; left -= 1) result = mutate(result, random);
  return result;
};

/** Text that is invalid JSON, or barely valid. */
const broken = (text: string, random: Random): Buffer => {
  const at = random.int(text.length + 1);
  const kinds: readonly (() => Buffer)[] = [
    () => Buffer.from(text.slice(0, at)),
    () => Buffer.from(text.slice(0, at) + random.pick(['\0', '"', '}', ',', '\\u', '\u2028', '//']) + text.slice(at)),
    () => Buffer.concat([Buffer.from(text.slice(0, at)), Buffer.from([0xff, 0xc0, 0x80]), Buffer.from(text.slice(at))]),
    () => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(text)]),
    () => Buffer.from(text, 'utf16le'),
    () => Buffer.from(`${text}${text}`),
    () => Buffer.from(text.replace('{', '{"__proto__":{"admin":true},')),
    () => Buffer.from(text.replace('{', '{"from":"a@example.test","from":"b@example.test",')),
    () => Buffer.from(hostileText(random)),
    () => Buffer.alloc(0),
  ];
  return random.pick(kinds)();
};

const TYPES = [
  ...['application/json; charset=utf-8', 'application/json;charset=utf-16', 'application/JSON', 'application/json;'],
  ...['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'application/xml', '*/*'],
  ...['application/vnd.api+json', 'json', 'application/json, text/plain', 'a'.repeat(500)],
] as const;

const wrapped = (bytes: Buffer, random: Random): Body => {
  const kind = random.int(20);
  if (kind === 0)
    return { type: 'application/json', encoding: random.pick(['gzip', 'br', 'x']), bytes: gzipSync(bytes) };
  if (kind === 1) return { type: undefined, bytes };
  if (kind === 2) return { type: random.pick(TYPES), bytes };
  return { type: 'application/json', bytes };
};

interface Tools {
  readonly known: KnownThings;
  readonly random: Random;
  readonly sample: Sampler;
}

type Content = NonNullable<OpenApiOperation['requestBody']>['content'][string];

/** One of the documented examples, or a value that the schema allows. */
const wellMade = ({ schema, examples }: Content, { known, random, sample }: Tools): unknown => {
  const values = Object.values(examples);
  if (values.length === 0 || random.chance(0.4)) return sample(schema, 'body');
  return filledIn(random.pick(values).value, known, random);
};

/** The body for an operation: valid, almost valid, or arbitrary. null: no body. */
export const makeBody = ({ requestBody }: OpenApiOperation, tools: Tools): Body | null => {
  const { random } = tools;
  const content = requestBody?.content['application/json'];
  if (content === undefined && random.chance(0.85)) return null;
  const value = content === undefined ? hostileValue(random) : wellMade(content, tools);
  const text = JSON.stringify(mutated(value, random)) ?? 'null';
  return wrapped(random.chance(0.06) ? broken(text, random) : Buffer.from(text), random);
};
