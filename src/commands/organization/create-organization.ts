import { formatId, ID_BYTES } from '../../domain/ids.ts';
import { createOrganization as decide } from '../../domain/organization/create-organization.ts';
import { organization, organizationStream } from '../../domain/organization/organization.ts';
import type { OperatorHost } from '../../domain/ports/event-store.ts';
import type { RateLimits } from '../../domain/rate-limits.ts';
import { type CommandContext, eventContext } from '../context.ts';
import { execute } from '../execute.ts';

const SECRET_BYTES = 32;

export interface NewOrganization {
  readonly name: string;
  readonly ceilings: RateLimits | null;
  /** Who makes it; absent: the service itself, at its first start. */
  readonly operator?: OperatorHost;
}

/** Makes an organization and its secret. @returns the organization's id. */
export const createOrganization = async (
  context: CommandContext,
  { operator, ...command }: NewOrganization,
): Promise<string> => {
  const { system, secrets } = context;
  const organizationId = formatId('org', system.randomBytes(ID_BYTES));
  await secrets.put(organizationId, organizationId, Buffer.from(system.randomBytes(SECRET_BYTES)).toString('base64'));
  const requestId = system.uuid();
  await execute(context, {
    aggregate: organization,
    stream: organizationStream(organizationId),
    context: eventContext(
      {
        ...{ actor: 'operator', organizationId, environment: null, requestId: null },
        ...(operator === undefined ? {} : { operator }),
        ...{ correlationId: requestId, causationId: requestId },
      },
      system.now().toISOString(),
    ),
    decide: (state) => decide(state, { organizationId, ...command }),
    known: { state: organization.initial, revision: 'no-stream' },
  });
  return organizationId;
};
