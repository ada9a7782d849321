import { domainToASCII } from 'node:url';
import { registerDomain } from '../commands/sending-domain/register-domain.ts';
import { verifyDomain } from '../commands/sending-domain/verify-domain.ts';
import { readDirectory } from '../composition/directory.ts';
import { type ExistingSendingDomain, isVerified, verificationRecord } from '../domain/sending-domain/sending-domain.ts';
import { type OperatorCommand, optional, required, UsageError } from './command.ts';
import { operatorOrigin } from './operator-origin.ts';

const shown = (domain: ExistingSendingDomain, capturing: boolean) => ({
  domain_id: domain.domainId,
  organization_id: domain.organizationId,
  name: domain.name,
  verified: isVerified(domain, capturing),
  txt_host: verificationRecord(domain).host,
  txt_value: verificationRecord(domain).value,
});

export const createDomainCommand: OperatorCommand = {
  name: 'domains create',
  usage: '--organization ORG_ID --name NAME',
  summary: 'registers a sending domain and shows the record to publish',
  options: { organization: { type: 'string' }, name: { type: 'string' } },
  needs: 'engines',
  run: async ({ context }, invocation) => {
    const name = domainToASCII(required(invocation, 'name')).toLowerCase();
    if (name === '') throw new UsageError('--name must be a domain name');
    const origin = await operatorOrigin(context, required(invocation, 'organization'));
    const { domain } = await registerDomain(context, origin, { name });
    return shown(domain, context.capturing);
  },
};

export const verifyDomainCommand: OperatorCommand = {
  name: 'domains verify',
  usage: '--organization ORG_ID --domain DOM_ID',
  summary: 'looks for the record of a domain now',
  options: { organization: { type: 'string' }, domain: { type: 'string' } },
  needs: 'engines',
  run: async ({ context }, invocation) => {
    const origin = await operatorOrigin(context, required(invocation, 'organization'));
    const { domain } = await verifyDomain(context, origin, { domainId: required(invocation, 'domain') });
    return shown(domain, context.capturing);
  },
};

export const listDomainsCommand: OperatorCommand = {
  name: 'domains list',
  usage: '[--organization ORG_ID]',
  summary: 'lists the domains',
  options: { organization: { type: 'string' } },
  needs: 'engines',
  run: async ({ context }, invocation) => {
    const of = optional(invocation, 'organization');
    if (of !== undefined) await operatorOrigin(context, of);
    const { domains } = await readDirectory(context.store);
    return [...domains.values()]
      .flatMap(({ domain }) => (domain.status === 'registered' ? [domain] : []))
      .filter(({ organizationId }) => of === undefined || organizationId === of)
      .map((each) => shown(each, context.capturing));
  },
};
