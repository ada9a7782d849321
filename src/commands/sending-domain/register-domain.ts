import { requireOwn } from '../../domain/ownership.ts';
import { isTakenByAnother } from '../../domain/sending-domain/domain-name.ts';
import { registerDomain as decideRegisterDomain } from '../../domain/sending-domain/register-domain.ts';
import { sendingDomain, sendingDomainId, sendingDomainStream } from '../../domain/sending-domain/sending-domain.ts';
import { type CommandContext, eventContext, type Origin } from '../context.ts';
import { execute, load } from '../execute.ts';
import type { DomainAtRevision } from './check-domain.ts';
import { isPublicSuffix } from './is-public-suffix.ts';
import { makeKeys } from './make-keys.ts';
import { nameHolder } from './name-holder.ts';
import { verifyDomain } from './verify-domain.ts';

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
    ...{ aggregate: sendingDomain, stream, known },
    context: eventContext({ ...origin, environment: null }, system.now().toISOString()),
    decide: (before) => decideRegisterDomain(before, { ...command, dkim }),
  });
  if (capturing) return verifyDomain(context, origin, { domainId });
  return { domain: requireOwn(state, origin.organizationId, 'domain'), revision: Number(revision) };
};
