import { createHash } from 'node:crypto';
import { contentParts, contentRoot } from '../../src/domain/message/draft.ts';
import type { MessageBody } from '../../src/domain/ports/contents.ts';
import { atOnce } from '../../src/lib/async/async.ts';
import { SALT_BYTES } from '../../src/lib/transparency/transparency.ts';
import type { Measure } from '../harness/bench.ts';
import { interleave } from '../harness/interleave.ts';

const FLOOR = { of: 'figure', atMost: 80 } as const;
const MESSAGES = 5_000;

const HTML = '<p class="line">Your order "4711" has left our warehouse: it is with you tomorrow. Größe: M</p>\n'
  .repeat(130)
  .slice(0, 12_000);

const BODY: MessageBody = {
  kind: 'message',
  messageId: 'msg_aaaaaaaaaaaaaaaaaaaaaaaaaa',
  from: { address: 'shop@example.test', name: 'Shop' },
  recipients: [{ id: 'rcp_aaaaaaaaaaaaaaaaaaaaaaaaaa', kind: 'to', address: 'ann@example.net' }],
  replyTo: [],
  subject: 'Your order has left',
  html: HTML,
  text: HTML.slice(0, 2_000),
  headers: {},
  attachments: [],
  tags: [{ name: 'kind', value: 'order' }],
  metadata: { order: '4711' },
};

/** Processor time of this process per message, in microseconds. */
const cpuOf = (work: () => void): number => {
  const before = process.cpuUsage();
  for (let count = 0; count < MESSAGES; count += 1) work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / MESSAGES;
};

/** Processor time of hashing a message's content when it is accepted. */
export const contentRoots: Measure = {
  name: 'content-roots',
  run: async ({ rounds, system }) => {
    const root = (): void => {
      const parts = atOnce(contentParts(BODY));
      const salts = Buffer.from(system.randomBytes(SALT_BYTES * parts.length));
      const saltOf = (index: number): string =>
        salts.toString('base64url', index * SALT_BYTES, (index + 1) * SALT_BYTES);
      contentRoot(parts.map((part, index) => ({ ...part, salt: saltOf(index) })));
    };
    const hash = (): void => {
      createHash('sha256').update(JSON.stringify(BODY)).digest();
    };
    const figures = await interleave(
      { rounds, warmUps: 1 },
      { root: async () => cpuOf(root), hash: async () => cpuOf(hash) },
    );
    return [
      {
        measure: 'content root, 12 kB of html, processor time',
        unit: 'µs',
        rounds: figures.root,
        limit: { what: 'the content as JSON, and its SHA-256', rounds: figures.hash },
        floor: FLOOR,
      },
    ];
  },
};
