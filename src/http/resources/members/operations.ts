import { z } from 'zod';
import type { Caller } from '../../../domain/api-key/caller.ts';
import { permissionSchema } from '../../../domain/api-key/events.ts';
import { environmentSchema } from '../../../domain/kernel/environment.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import { roleSchema } from '../../../domain/member/events.ts';
import { requirePermission, rolesFor } from '../../auth/permissions.ts';
import { endpoint, isCompat, type Operation, type RouteContext, ruleOf } from '../../endpoint.ts';

import type { GuardedRoute } from '../../route-rules.ts';
import { methodAndUrl } from '../../route-table.ts';

/** The operations of the API and who may use them, read from the route table. The dashboard's menu and buttons follow it. */

const operationSchema = z.strictObject({
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']),
  path: z.string().describe('As in this document: `/v1/messages/{id}`.'),
  allowed: z.boolean().describe('true: the key or member that sends this request may use it.'),
  environments: z
    .array(environmentSchema)
    .describe('Environments in which it exists. Members use an operation of `live` alone from both environments.'),
  permission: z.union([permissionSchema, z.literal('any')]).describe('Permission that a key needs. `any`: none.'),
  roles: z
    .array(roleSchema)
    .describe('Roles whose members may use it. Roles that the organization allows to see contents are not added.'),
});

const operationsSchema = z
  .strictObject({
    object: z.literal('operations'),
    owners: z
      .array(z.string())
      .describe('Names of the owners, who can give a member another role. Empty for an API key.'),
    data: z.array(operationSchema),
  })
  .meta({ id: 'Operations' });
export type SerializedOperations = z.infer<typeof operationsSchema>;

const isAllowed = (caller: Caller, rule: GuardedRoute, method: string): boolean => {
  try {
    // Members select the environment with each request.
    const environments = caller.member === undefined ? rule.environments : [caller.environment];
    requirePermission(caller, { ...rule, environments }, method);
    return true;
  } catch (error) {
    if (error instanceof DomainError) return false;
    throw error;
  }
};

const serializeOperation = (caller: Caller, { name }: Operation): SerializedOperations['data'] => {
  const rule = ruleOf(name);
  if (rule.permission === null || isCompat(name)) return [];
  const { method, url } = methodAndUrl(name);
  return [
    {
      method: method as SerializedOperations['data'][number]['method'], // of the route table
      path: url.replaceAll(/:(\w+)/g, '{$1}'),
      allowed: isAllowed(caller, rule, method),
      environments: [...rule.environments],
      permission: rule.permission,
      roles: [...rolesFor(rule, method)],
    },
  ];
};

export const listOperationsRoute = endpoint(
  'GET /v1/session/operations',
  {
    summary: 'List what you may do',
    description:
      'Lists every operation of this API, with the permission and the roles that it requires, and says which ones the key ' +
      'or member that sends this request may use. Operations on captured mail are listed only while mail is captured.',
    answer: operationsSchema,
  },
  async ({ caller }, { operations, auth }: RouteContext) => ({
    object: 'operations',
    owners: caller.member === undefined ? [] : await auth.ownersOf(caller.organizationId),
    data: operations.flatMap((operation) => serializeOperation(caller, operation)),
  }),
);
