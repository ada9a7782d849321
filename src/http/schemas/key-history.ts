import { z } from 'zod';
import { permissionSchema } from '../../domain/api-key/permissions.ts';
import { environmentSchema } from '../../domain/environment.ts';
import { ERROR_CATALOGUE, type ErrorCode } from '../../domain/error-catalogue.ts';
import { limitsShape } from './api-key.ts';
import { timeShape } from './time.ts';

const nothing = z.strictObject({});
const codes = Object.keys(ERROR_CATALOGUE) as [ErrorCode, ...ErrorCode[]]; // there are some

const created = z.strictObject({
  name: z.string(),
  domain_id: z.string(),
  permissions: z.array(permissionSchema),
  environment: environmentSchema,
  rate_limits: limitsShape,
  allowed_cidrs: z.array(z.string()),
  expires_at: timeShape().nullable(),
  last4: z.string(),
});

const changed = <Value extends z.ZodType>(value: Value) => z.strictObject({ from: value, to: value }).optional();

const updated = z.strictObject({
  name: changed(z.string()),
  permissions: changed(z.array(permissionSchema)),
  rate_limits: changed(limitsShape),
  allowed_cidrs: changed(z.array(z.string())),
  expires_at: changed(timeShape().nullable()),
});

const rotated = z.strictObject({
  last4: z.string().describe('Of the new value.'),
  previous_last4: z.string(),
  previous_key_expires_at: timeShape().describe('End of the grace period of the value that was replaced.'),
  revoke_previous: z.boolean().describe('Whether all earlier values ended at once.'),
});

const refused = z.strictObject({
  change: z.enum(['update', 'rotate', 'revoke', 'delete']),
  code: z.enum(codes).describe('Of the error that it was answered with.'),
});

const actor = z.strictObject({
  type: z.enum(['key', 'operator', 'service', 'worker']),
  id: z.string().nullable().describe('Of the key, or the name of the worker.'),
});

const entry = <Type extends string, Details extends z.ZodType>(type: Type, details: Details) =>
  z.strictObject({
    id: z.string(),
    object: z.literal('api_key_history_entry'),
    type: z.literal(type),
    at: timeShape(),
    actor,
    request_id: z.string().nullable(),
    details,
  });

export const keyHistoryEntryShape = z.discriminatedUnion('type', [
  entry('api_key.created', created),
  entry('api_key.updated', updated),
  entry('api_key.rotated', rotated),
  entry('api_key.revoked', nothing),
  entry('api_key.expired', z.strictObject({ expires_at: timeShape().nullable() })),
  entry('api_key.deleted', nothing),
  entry('api_key.change_refused', refused),
  entry('domain.deleted', z.strictObject({ domain_id: z.string() })),
]);
export type KeyHistoryEntryShape = z.infer<typeof keyHistoryEntryShape>;
