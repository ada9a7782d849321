import { expect, test, vi } from 'vitest';
import type { EventStore } from '../../src/domain/kernel/event-store.ts';
import { liveViewsProjection } from '../../src/projections/live-views.ts';
import { closedAfterTest } from '../support/after-test.ts';
import { openService } from './service.ts';

// Otherwise each start reads the whole log, and fails if a part of it was detached.
test('what workers fold at their start is copied for starts', async () => {
  const service = closedAfterTest(await openService());
  const { store } = service.context;
  const folded = new Set<string>();
  const readAll: EventStore['readAll'] = (options) => {
    if (options.folded === true) for (const category of options.filter?.categories ?? ['all']) folded.add(category);
    return store.readAll(options);
  };
  service.workers({ store: { ...store, readAll } }).start();
  await vi.waitFor(() => expect([...folded]).toContain('inboundRoute'));
  expect([...folded].filter((category) => !liveViewsProjection.categories.includes(category))).toEqual([]);
});
