import type { FastifySchema } from 'fastify';
import type { Described } from './openapi/operation.ts';
import type { RouteName } from './route-table.ts';

/** What the OpenAPI document is told of a route of the table. @param operationId what clients call it. */
export const routeSchema = (operationId: string, name: RouteName, described: Described): FastifySchema => ({
  operation: { ...described, name, operationId },
});
