import { domainToASCII } from 'node:url';
import type { CommandContext } from '../commands/execute.ts';
import { registerDomain, verifyDomain } from '../commands/sending-domain/change-domain.ts';
import { serviceHosts } from '../commands/sending-domain/check-domain.ts';
import { readDirectory } from '../composition/first-start.ts';
import type { Operator } from '../composition/open-operator.ts';
import { type DomainRecords, RECORDS_UNKNOWN } from '../domain/sending-domain/domain-records.ts';
import { recordsToPublish } from '../domain/sending-domain/records-to-publish.ts';
import {
  type ExistingSendingDomain,
  isVerified,
  lifeOf,
  verificationRecord,
} from '../domain/sending-domain/sending-domain.ts';
import { trackingTarget } from '../domain/tracking/tracking.ts';
import { type OperatorCommand, optional, required } from './command.ts';
import { UsageError } from './failures.ts';
import { operatorOrigin } from './operator-origin.ts';

/**
 * Uses the service's mail settings, not this shell's variables, because they decide which records a domain needs.
 * @throws {UsageError}
 */
const contextOf = ({ context, mail }: Operator): CommandContext => {
  if (mail === undefined)
    throw new UsageError('MAIL_URL and BOUNCE_DOMAIN are not known: start the service once with them');
  return {
    ...context,
    capturing: mail.kind === 'capture',
    bounceDomain: mail.bounceDomain,
    trackingTarget: trackingTarget(mail.publicUrl),
  };
};

const shownRecords = (domain: ExistingSendingDomain, context: CommandContext, { records }: DomainRecords) =>
  recordsToPublish(domain, serviceHosts(context)).map((record) => {
    const { kind, type, host, value, required } = record;
    const seen = records.find((each) => each.kind === kind && each.host === host);
    return { kind, type, host, value, required, state: seen?.state ?? 'unknown', problem: seen?.problem ?? null };
  });

const shown = (domain: ExistingSendingDomain, context: CommandContext, records: DomainRecords) => ({
  domain_id: domain.domainId,
  organization_id: domain.organizationId,
  name: domain.name,
  status: lifeOf(domain, context.capturing),
  verified: isVerified(domain, context.capturing),
  fails_at: !context.capturing && domain.trouble?.status === 'degraded' ? domain.trouble.failsAt : null,
  txt_host: verificationRecord(domain).host,
  txt_value: verificationRecord(domain).value,
  records: shownRecords(domain, context, records),
});

export const createDomainCommand: OperatorCommand = {
  name: 'domains create',
  usage: '--organization ORG_ID --name NAME',
  summary: 'registers a sending domain and shows the DNS records to publish',
  run: async (operator, invocation) => {
    const context = contextOf(operator);
    const name = domainToASCII(required(invocation, 'name')).toLowerCase();
    if (name === '') throw new UsageError('--name must be a domain name');
    const origin = await operatorOrigin(context, required(invocation, 'organization'));
    const { domain } = await registerDomain(context, origin, { name });
    return shown(domain, context, RECORDS_UNKNOWN);
  },
};

export const verifyDomainCommand: OperatorCommand = {
  name: 'domains verify',
  usage: '--organization ORG_ID --domain DOM_ID',
  summary: 'checks the DNS records of a domain now',
  run: async (operator, invocation) => {
    const context = contextOf(operator);
    const origin = await operatorOrigin(context, required(invocation, 'organization'));
    const { domain, records } = await verifyDomain(context, origin, { domainId: required(invocation, 'domain') });
    return shown(domain, context, records);
  },
};

export const listDomainsCommand: OperatorCommand = {
  name: 'domains list',
  usage: '[--organization ORG_ID]',
  summary: 'lists the domains',
  run: async (operator, invocation) => {
    const context = contextOf(operator);
    const of = optional(invocation, 'organization');
    if (of !== undefined) await operatorOrigin(context, of);
    const { domains, records } = await readDirectory(context);
    return [...domains.values()]
      .flatMap(({ domain }) => (domain.status === 'registered' ? [domain] : []))
      .filter(({ organizationId }) => of === undefined || organizationId === of)
      .map((each) => shown(each, context, records.get(each.domainId) ?? RECORDS_UNKNOWN));
  },
};
