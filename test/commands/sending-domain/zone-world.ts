import { createGeneratedDkimKeys } from '../../../src/adapters/dkim-keys.ts';
import { type CommandContext, load, type Origin } from '../../../src/commands/execute.ts';
import { registerDomain, verifyDomain } from '../../../src/commands/sending-domain/change-domain.ts';
import { type CheckedDomain, checkDomainWhenDue } from '../../../src/commands/sending-domain/check-domain.ts';
import { eventCodec } from '../../../src/domain/kernel/codec.ts';
import { sendingDomainStream } from '../../../src/domain/kernel/streams.ts';
import type { RecordKind, SeenRecord } from '../../../src/domain/sending-domain/events.ts';
import { type RecordToPublish, recordsToPublish } from '../../../src/domain/sending-domain/records-to-publish.ts';
import { type ExistingSendingDomain, sendingDomain } from '../../../src/domain/sending-domain/sending-domain.ts';
import { createStubResolver } from '../../../src/lib/smtp/smtp.ts';
import type { NameData, Zone } from '../../support/dns-zone.ts';
import { createInMemoryContents } from '../../support/in-memory/contents.ts';
import { createInMemorySecrets } from '../../support/in-memory/secrets.ts';
import { createInMemoryEventStore } from '../../support/in-memory-event-store.ts';
import { startNameServer, type TestNameServer } from '../../support/name-server.ts';
import { createShiftableSystem, type ShiftableSystem } from '../../workers/shiftable-system.ts';

export const BOUNCE_DOMAIN = 'bounce.service.test';
const TRACKING_TARGET = 'mail.service.test';

export interface ZoneWorld {
  readonly context: CommandContext;
  readonly system: ShiftableSystem;
  readonly server: TestNameServer;
  register(organizationId: string, name: string): Promise<ExistingSendingDomain>;
  verify(domain: ExistingSendingDomain): Promise<CheckedDomain>;
  /** Checks a domain as the worker does. */
  checkWhenDue(domain: ExistingSendingDomain): Promise<ExistingSendingDomain>;
  current(domain: ExistingSendingDomain): Promise<ExistingSendingDomain>;
  close(): Promise<void>;
}

export const originOf = (organizationId: string): Origin => ({
  actor: 'operator',
  organizationId,
  environment: null,
  requestId: null,
  correlationId: 'test',
  causationId: 'test',
});

/** A shorter time-out would fail on a busy machine. */
const TIMEOUT_MS = 250;

/** Domains whose DNS is a real server in this process. */
export const openZoneWorld = async (): Promise<ZoneWorld> => {
  const system = createShiftableSystem();
  const server = await startNameServer({});
  const resolver = createStubResolver({ system, servers: [server], timeoutMs: TIMEOUT_MS });
  const contents = createInMemoryContents();
  const store = createInMemoryEventStore({ codec: eventCodec, system, contents });
  const context: CommandContext = {
    store,
    contents,
    system,
    resolver,
    secrets: createInMemorySecrets(),
    dkimKeys: createGeneratedDkimKeys(),
    capturing: false,
    bounceDomain: BOUNCE_DOMAIN,
    trackingTarget: TRACKING_TARGET,
    webhookTarget: { problemWith: async () => null, post: () => Promise.reject(new Error()), close: async () => {} },
  };
  const current = async ({ domainId }: ExistingSendingDomain): Promise<ExistingSendingDomain> => {
    const { state } = await load(store, sendingDomain, sendingDomainStream(domainId));
    if (state.status === 'absent') throw new Error('there is no domain');
    return state;
  };
  return {
    context,
    system,
    server,
    current,
    register: async (organizationId, name) =>
      (await registerDomain(context, originOf(organizationId), { name })).domain,
    verify: ({ organizationId, domainId }) => verifyDomain(context, originOf(organizationId), { domainId }),
    checkWhenDue: async (domain) => {
      await checkDomainWhenDue(context, domain.domainId);
      return current(domain);
    },
    close: async () => {
      await resolver.close();
      await server.close();
      await store.close();
    },
  };
};

const toPublish = (domain: ExistingSendingDomain): readonly RecordToPublish[] =>
  recordsToPublish(domain, { bounceDomain: BOUNCE_DOMAIN, trackingTarget: TRACKING_TARGET });

/** A record of a domain. For `dkim` it is the RSA record, of the pending pair if there is one. */
export const recordOf = (domain: ExistingSendingDomain, kind: RecordKind): RecordToPublish => {
  const found = toPublish(domain).findLast(
    (record) => record.kind === kind && (record.key === undefined || record.key.algorithm === 'rsa-sha256'),
  );
  if (found === undefined) throw new Error(`the domain has no ${kind} record`);
  return found;
};

/** A zone with all records that the domain must publish. */
export const zoneOf = (domain: ExistingSendingDomain): Zone => {
  const zone: Record<string, NameData> = { [domain.name]: {} };
  for (const { host, type, value } of toPublish(domain)) {
    zone[host] = type === 'CNAME' ? { CNAME: value } : { TXT: [value] };
  }
  return { ...zone, [BOUNCE_DOMAIN]: { MX: [[10, 'mx.service.test']], TXT: ['v=spf1 ip4:192.0.2.1 -all'] } };
};

/** The check result for one record. */
export const seenOf = ({ records }: CheckedDomain, { kind, host }: RecordToPublish): SeenRecord => {
  const found = records.records.find((record) => record.kind === kind && record.host === host);
  if (found === undefined) throw new Error(`nothing was seen of ${host}`);
  return found;
};
