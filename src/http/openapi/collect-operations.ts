import type { FastifyInstance } from 'fastify';
import type { Operation } from './operation.ts';

/** Operations of the routes that are registered from now on, in that order. */
export const collectOperations = (server: FastifyInstance): readonly Operation[] => {
  const operations: Operation[] = [];
  server.addHook('onRoute', ({ method, schema }) => {
    // Fastify adds HEAD to every GET: the same operation without its body.
    if (method !== 'HEAD' && schema?.operation !== undefined) operations.push(schema.operation);
  });
  return operations;
};
