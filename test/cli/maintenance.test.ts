import { afterAll, beforeAll, expect, test } from 'vitest';
import { countReads } from '../../src/cli/maintenance.ts';
import { LOG_START } from '../../src/domain/kernel/event-store.ts';
import { type Service, startService } from '../http/support/service.ts';

let service: Service;

beforeAll(async () => {
  service = await startService();
  for (let made = 0; made < 3; made += 1) await service.makeOrganization();
});
afterAll(() => service.close());

const eventsInBar = async (from: typeof LOG_START) => {
  const { store } = service.deps.context;
  const shown: (number | undefined)[][] = [];
  const at = (done: number, of: number | undefined) => void shown.push([done, of]);
  const log = await countReads(store, { at, end: () => undefined });
  const first = await log.readAll({ from, limit: 1 });
  await log.readAll({ from: first.position, limit: 1 });
  return { first: first.position, shown };
};

test('progress is measured against what is read, also if the read does not begin at the start of the log', async () => {
  const all = Number(await service.deps.context.store.head());
  expect(all).toBeGreaterThan(2);
  const whole = await eventsInBar(LOG_START);
  expect(whole.shown).toEqual([
    [1, all],
    [2, all],
  ]);
  const rest = await eventsInBar(whole.first);
  expect(rest.shown[0]).toEqual([1, all - Number(whole.first)]);
});
