import { expect, test } from 'vitest';
import type { RecordedEvent } from '../../../src/domain/kernel/event-store.ts';
import type { OutboxEvent } from '../../../src/domain/kernel/events.ts';
import { createSendingDomains } from '../../../src/workers/domains/sending-domains.ts';
import { createInMemorySecrets } from '../../support/in-memory/secrets.ts';
import { contextAt, NOW } from '../../support/specification.ts';

const recorded = (stream: string, event: OutboxEvent): RecordedEvent =>
  ({ ...event, id: 'e', stream, revision: 0, position: '1', metadata: contextAt(NOW) }) as unknown as RecordedEvent;

const registered = (): RecordedEvent =>
  recorded('domain-dom_1', {
    type: 'DomainRegistered',
    data: { domainId: 'dom_1', name: 'shop.example', token: 't', dkim: [] },
  });

const looked = (state: 'valid' | 'missing', kind: 'return_path' | 'tracking' = 'return_path'): RecordedEvent =>
  recorded('domainRecords-dom_1', {
    type: 'DomainRecordsChecked',
    data: {
      domainId: 'dom_1',
      spf: 'valid',
      dkim: 'valid',
      dmarc: 'valid',
      records: [{ kind, host: 'bounces.shop.example', state, problem: null, seen: [] }],
    },
  });

test('undelivered mail returns to a host of the sender’s domain while its DNS points here', () => {
  const domains = createSendingDomains({ secrets: createInMemorySecrets() });
  domains.apply(registered());
  expect(domains.returnHostOf('dom_1')).toBeNull();
  domains.applyRecords(looked('valid'));
  expect(domains.returnHostOf('dom_1')).toBe('bounces.shop.example');
  domains.applyRecords(looked('missing'));
  expect(domains.returnHostOf('dom_1')).toBeNull();
});

test('links use the tracking host of the sender’s domain while its DNS points here', () => {
  const domains = createSendingDomains({ secrets: createInMemorySecrets() });
  domains.apply(registered());
  expect(domains.trackedNameOf('dom_1')).toBeNull();
  domains.applyRecords(looked('valid', 'tracking'));
  expect(domains.trackedNameOf('dom_1')).toBe('shop.example');
  expect(domains.returnHostOf('dom_1')).toBeNull();
  domains.applyRecords(looked('missing', 'tracking'));
  expect(domains.trackedNameOf('dom_1')).toBeNull();
});

test('mail of a deleted or unknown domain has no return host of its own and is not signed', async () => {
  const domains = createSendingDomains({ secrets: createInMemorySecrets() });
  domains.apply(registered());
  domains.applyRecords(looked('valid'));
  domains.apply(recorded('domain-dom_1', { type: 'DomainDeleted', data: { domainId: 'dom_1', name: 'shop.example' } }));
  expect(domains.returnHostOf('dom_1')).toBeNull();
  expect(domains.returnHostOf('dom_2')).toBeNull();
  expect(await domains.keysOf('dom_2')).toEqual([]);
});
