import { describe, expect, test } from 'vitest';
import { eventContext } from '../../../src/commands/execute.ts';
import { makeKeys } from '../../../src/commands/sending-domain/change-domain.ts';
import type { SendingDomainEvent } from '../../../src/domain/kernel/events.ts';
import type { DkimKey } from '../../../src/domain/sending-domain/events.ts';
import { dkimValue } from '../../../src/domain/sending-domain/records-to-publish.ts';
import { dkimHost } from '../../../src/domain/sending-domain/sending-domain.ts';
import { createVerifier } from '../../adapters/mail/dkim/verify.ts';
import { type Delivering, openDelivering, statuses, until } from '../delivering.ts';

const ANN = 'ann@example.org';
const NAME = 'example.test';

const tell = async ({ dependencies: { store }, system, organizationId }: Delivering, event: SendingDomainEvent) => {
  const stream = 'domain-dom_1';
  const [last] = await store.readStream(stream, { direction: 'backwards', limit: 1 });
  const origin = {
    actor: 'operator',
    organizationId,
    environment: null,
    requestId: null,
    correlationId: 'test',
    causationId: 'test',
  };
  await store.append({
    stream,
    expected: last?.revision ?? 'no-stream',
    context: eventContext(origin, system.now().toISOString()),
    events: [{ ...event, id: system.uuid() }],
  });
};

/** A domain whose keys were never looked up in the DNS. */
const openRegistered = async () => {
  const service = await openDelivering();
  const keys = [...(await makeKeys(service.context, service.organizationId))];
  await tell(service, { type: 'DomainRegistered', data: { domainId: 'dom_1', name: NAME, token: 't', dkim: keys } });
  await tell(service, { type: 'DomainVerified', data: { domainId: 'dom_1', name: NAME, method: 'capture' } });
  return { service, keys };
};

const sentBy = async (service: Delivering, capturing: boolean): Promise<string> => {
  service.workers({ capturing }).start();
  const id = await service.send(ANN, 'live', 'Grüße\n.\nFrom here');
  await until(async () => expect(await statuses(service, id)).toEqual(['delivered']));
  return service.sink.mails.at(-1)?.raw ?? '';
};

const verdicts = (raw: string, keys: readonly DkimKey[]) => {
  const published = keys.map((key) => ({ record: [dkimHost(NAME, key.selector), dkimValue(key)] as const }));
  return createVerifier(published as never)(raw); // the verifier only reads each key's record
};

describe('captured mail', () => {
  test('is signed by all keys of its domain, as if their records were published', async () => {
    const { service, keys } = await openRegistered();
    const found = await verdicts(await sentBy(service, true), keys);
    expect(found.toSorted()).toEqual(
      keys.map(({ algorithm, selector }) => `pass ${algorithm} ${selector} ${NAME}`).toSorted(),
    );
    expect(found).toHaveLength(2);
  });

  test('is signed by the newest pending keys, and not at all without keys', async () => {
    const { service } = await openRegistered();
    const newer = [...(await makeKeys(service.context, service.organizationId))];
    await tell(service, { type: 'DkimKeysAdded', data: { domainId: 'dom_1', keys: newer } });
    expect(await verdicts(await sentBy(service, true), newer)).toEqual([
      expect.stringMatching(/^pass /),
      expect.stringMatching(/^pass /),
    ]);
    const bare = await openDelivering();
    expect(await sentBy(bare, true)).not.toContain('DKIM-Signature');
  });
});

test('mail that is really sent is not signed by keys whose records were never seen', async () => {
  const { service } = await openRegistered();
  expect(await sentBy(service, false)).not.toContain('DKIM-Signature');
});
