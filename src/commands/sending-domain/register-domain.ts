import { parse } from 'tldts';
import { requireOwn } from '../../domain/aggregate.ts';
import { registerDomain as decideRegisterDomain } from '../../domain/sending-domain/change-domain.ts';
import { isTakenByAnother } from '../../domain/sending-domain/domain-name.ts';
import { sendingDomain, sendingDomainId } from '../../domain/sending-domain/sending-domain.ts';
import { sendingDomainStream } from '../../domain/streams.ts';
import { type CommandContext, eventContext, type Origin } from '../context.ts';
import { execute, load } from '../execute.ts';
import type { DomainAtRevision } from './check-domain.ts';
import { makeKeys } from './dkim-keys.ts';
import { nameHolder } from './domain-name.ts';
import { verifyDomain } from './verify-domain.ts';

/**
 * Whether a registry gives away the names right below this one (`co.uk`), by the ICANN section of the list at
 * publicsuffix.org: those of its other section (`github.io`) belong to somebody, who may send from them.
 * @param name A-labels, lower case.
 */
export const isPublicSuffix = (name: string): boolean => {
  const { publicSuffix, isIcann } = parse(name, { extractHostname: false, allowPrivateDomains: false });
  return isIcann === true && publicSuffix === name;
};

const TOKEN_BYTES = 20;

/**
 * Registers a name and makes its keys; while mail is captured it is verified at once.
 * @param name A-labels, lower case.
 * @throws {DomainError} `domain_already_exists`, `domain_is_public_suffix`.
 * @throws {DkimKeysBusy}
 */
export const registerDomain = async (
  context: CommandContext,
  origin: Origin,
  { name }: { readonly name: string },
): Promise<DomainAtRevision> => {
  const { system, store, capturing } = context;
  const domainId = sendingDomainId(origin.organizationId, name);
  const { holder, formerHolder } = await nameHolder(store, name);
  const takenByAnother = isTakenByAnother(holder.state, { domainId, capturing, formerHolder });
  const token = Buffer.from(system.randomBytes(TOKEN_BYTES)).toString('hex');
  const command = { domainId, name, token, takenByAnother, isPublicSuffix: isPublicSuffix(name) };
  const stream = sendingDomainStream(domainId);
  const known = await load(store, sendingDomain, stream);
  decideRegisterDomain(known.state, { ...command, dkim: [] }); // what is refused costs no keys
  const dkim = await makeKeys(context, origin.organizationId);
  const { state, revision } = await execute(context, {
    aggregate: sendingDomain,
    stream,
    known,
    context: eventContext({ ...origin, environment: null }, system.now().toISOString()),
    decide: (before) => decideRegisterDomain(before, { ...command, dkim }),
  });
  if (capturing) return verifyDomain(context, origin, { domainId });
  return { domain: requireOwn(state, origin.organizationId, 'domain'), revision: Number(revision) };
};
