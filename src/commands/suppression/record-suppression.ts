import type { Environment } from '../../domain/environment.ts';
import { addSuppression as decide } from '../../domain/suppression/add-suppression.ts';
import type { SuppressionReason, SuppressionScope } from '../../domain/suppression/events.ts';
import { requireSuppression } from '../../domain/suppression/remove-suppression.ts';
import {
  type ExistingSuppression,
  type SuppressionEntry,
  suppression,
  suppressionId,
  suppressionStream,
} from '../../domain/suppression/suppression.ts';
import { type CommandContext, eventContext, type Origin } from '../context.ts';
import { execute } from '../execute.ts';

export interface RecordSuppression {
  readonly environment: Environment;
  /** Keyed digest of the address. */
  readonly digest: string;
  /** null: it was erased. */
  readonly address: string | null;
  readonly reason: SuppressionReason;
  readonly scope: SuppressionScope;
  /** ISO 8601; null: never. */
  readonly expiresAt: string | null;
  /** What speaks for it, in words. */
  readonly text: string | null;
  readonly source: SuppressionEntry['source'];
  /** When the event happened that it follows from (ISO 8601); null: somebody says so now. */
  readonly happenedAt: string | null;
}

export interface RecordedSuppression {
  readonly suppression: ExistingSuppression;
  readonly revision: number;
  /** false: all that was to be said was known. */
  readonly added: boolean;
}

/** Another entry against an address that is known by its digest. @throws {DomainError} `invalid_request`, `resource_conflict`. */
export const recordSuppression = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  origin: Origin,
  { address, text, ...rest }: RecordSuppression,
): Promise<RecordedSuppression> => {
  const { system } = context;
  const now = system.now().toISOString();
  const id = suppressionId(rest.environment, rest.digest);
  const contentId = system.uuid();
  const { environment, ...command } = rest;
  const { state, revision, events } = await execute(context, {
    aggregate: suppression,
    stream: suppressionStream(id),
    context: eventContext({ ...origin, environment }, now),
    decide: (before) => decide(before, { ...command, suppressionId: id, contentId, now }),
    contents: [{ id: contentId, organizationId: origin.organizationId, body: { kind: 'suppression', address, text } }],
  });
  const existing = requireSuppression(state, { organizationId: origin.organizationId, environment });
  return { suppression: existing, revision: Number(revision), added: events.length > 0 };
};
