import { describe, expect, test } from 'vitest';
import { internalOrigin, load } from '../../../src/commands/execute.ts';
import { recordOptIns } from '../../../src/commands/suppression.ts';
import type { EventStore } from '../../../src/domain/kernel/event-store.ts';
import { suppressionStream } from '../../../src/domain/kernel/streams.ts';
import { hasOptedIn, strongestEntry, suppression } from '../../../src/domain/suppression/suppression.ts';
import { StoreUnavailable } from '../../../src/lib/async/async.ts';
import { createSuppressRecipients } from '../../../src/workers/create-workers.ts';
import { openDelivering as open } from '../delivering.ts';
import type { Service } from '../service.ts';
import { suppressing, suppressions, unsubscribe } from './happenings.ts';

const ANN = 'ann@example.org';

describe('an opt-in and an unsubscription from its topic, with a stopped clock:', () => {
  const topicId = 'top_aaaaaaaaaaaaaaaaaaaaaaaaaa';
  const optIn = (service: Service) =>
    recordOptIns(
      service.dependencies,
      internalOrigin({ actor: 'key:key_1', organizationId: service.organizationId, causeId: 'test' }),
      {
        environment: 'live',
        topicId,
        evidence: null,
        addresses: [ANN],
      },
    );
  const leave = async (service: Service) => unsubscribe(service, await service.send(ANN), topicId);
  const isOptedIn = async (service: Service): Promise<boolean> => {
    const [event] = await suppressions(service);
    const { state } = await load(
      service.dependencies.store,
      suppression,
      suppressionStream(event?.data.suppressionId ?? ''),
    );
    return hasOptedIn(state, topicId) && strongestEntry(state, { stream: 'bulk', topicId }, '2100') === null;
  };

  test.each([
    ['the opt-in', [optIn, leave, optIn], true],
    ['the unsubscription', [optIn, leave, optIn, leave], false],
    ['the opt-in, of one who had never opted in', [leave, optIn], true],
    ['the unsubscription, of one who had just opted in', [optIn, leave], false],
  ] as const)(
    '%s applies if it was last in the log, however late and often the list receives it',
    async (_, steps, expected) => {
      const service = await open();
      for (const step of steps) await step(service);
      const { store } = service.dependencies;
      let failures = 0;
      const crashing: EventStore = {
        ...store,
        append: (append) => {
          if (!append.stream.startsWith('suppression-') || failures >= 1) return store.append(append);
          failures += 1;
          return Promise.reject(new StoreUnavailable('gone'));
        },
      };
      const events = await suppressing(service);
      await createSuppressRecipients({ ...service.dependencies, store: crashing })(events).catch(() => undefined);
      await createSuppressRecipients(service.dependencies)(events);
      expect(await isOptedIn(service)).toBe(expected);
      await createSuppressRecipients(service.dependencies)(events);
      expect(await isOptedIn(service)).toBe(expected);
    },
  );
});
