import { z } from 'zod';
import { docsPage } from '../../docs/page.ts';
import type { House } from '../../endpoint.ts';
import { openApiDocument } from '../../openapi/document.ts';
import { routeSchema } from '../../route-schema.ts';

/** The OpenAPI document, made once: it does not change while the process runs. */
export const openapiRoute = ({ server, deps, operationId, operations }: House): void => {
  const schema = routeSchema(operationId, 'GET /openapi.json', {
    summary: 'This document',
    answer: z.record(z.string(), z.unknown()),
  });
  let text: string | undefined;
  server.get('/openapi.json', { schema }, async (_request, reply) => {
    text ??= JSON.stringify(openApiDocument(operations, deps.publicUrl));
    return reply.type('application/json; charset=utf-8').send(text);
  });
};

/** The same for people; nothing on the page comes from anywhere else. */
export const docsRoute = ({ server, deps, operationId, operations }: House): void => {
  const schema = routeSchema(operationId, 'GET /docs', {
    summary: 'This document, to be read',
    answer: z.string(),
    mediaType: 'text/html',
  });
  let page: string | undefined;
  server.get('/docs', { schema }, async (_request, reply) => {
    page ??= docsPage(openApiDocument(operations, deps.publicUrl));
    return reply
      .header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'")
      .type('text/html; charset=utf-8')
      .send(page);
  });
};

/** For whoever opens the address that was printed. */
export const rootRoute = ({ server, operationId }: House): void => {
  const schema = routeSchema(operationId, 'GET /', { summary: 'Leads to the documentation' });
  server.get('/', { schema }, async (_request, reply) => reply.redirect('/docs'));
};
