import { expect, it } from 'vitest';
import { createSystem } from '../../../src/adapters/system.ts';
import { eventCodec } from '../../../src/domain/kernel/codec.ts';
import { LOG_START } from '../../../src/domain/kernel/event-store.ts';
import { createSubscribe } from '../../../src/lib/event-log/eventstoredb.ts';

const AT = '0'.repeat(32);
const positionOf = (index: number): string => String(index).padStart(AT.length, '0');

it('skips nothing when a lagging node shows a follower no event before the kept position', async () => {
  const raw = {
    stream: 'other-1',
    id: '',
    revision: 0,
    position: positionOf(3),
    type: 'Thing',
    data: '{}',
    metadata: '{}',
  };
  const answers = [[], [], [raw]];
  const faults: unknown[] = [];
  const ending = new AbortController();
  const subscribe = createSubscribe({
    connection: { closing: new AbortController().signal, system: createSystem() },
    reader: { after: async () => answers.shift() ?? [] },
    search: async () => ({ events: [], position: LOG_START }),
    tail: {
      join: () => () => undefined,
      holds: () => false,
      start: () => positionOf(9),
      take: () => null,
      more: async () => undefined,
      page: async () => null,
    },
    recovery: { recover: async (error) => void faults.push(error), works: () => undefined },
    codec: eventCodec,
  });
  const pages = subscribe(LOG_START, {}, ending.signal)[Symbol.asyncIterator]();
  expect((await pages.next()).value?.position).toBe(raw.position);
  expect(faults).toHaveLength(2);
  ending.abort();
});
