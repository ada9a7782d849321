import { expect, onTestFinished, test } from 'vitest';
import { createRecordingLogger } from '../workers/recording-logger.ts';
import { startService } from './support/service.ts';

test('each response is one line for debugging: who asked what, and how long it took; never the path', async () => {
  const logger = createRecordingLogger();
  const lines: object[] = [];
  const service = await startService({ logger: { ...logger, debug: (fields) => lines.push(fields) } });
  onTestFinished(service.close);
  const organizationId = await service.makeOrganization();
  const domainId = await service.makeDomain(organizationId, 'example.test');
  const { id, value } = await service.makeKey(organizationId, domainId);
  const { headers } = await service.request({ key: value, url: `/v1/api-keys/${id}`, remoteAddress: '192.0.2.7' });
  expect(lines.filter((line) => 'keyId' in line && line.keyId === id)).toEqual([
    {
      requestId: headers['x-request-id'],
      method: 'GET',
      route: '/v1/api-keys/:id',
      status: 200,
      tookMs: expect.any(Number),
      keyId: id,
      clientAddress: '192.0.2.7',
    },
  ]);
});
