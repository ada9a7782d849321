import { closedAfterTest } from '../../support/after-test.ts';
import { openService, type Service } from '../service.ts';
import { openReceiver, type Receiver } from './receiver.ts';

export const receiver = async (...answer: Parameters<typeof openReceiver>): Promise<Receiver> =>
  closedAfterTest(await openReceiver(...answer));

export const service = async (): Promise<Service> => closedAfterTest(await openService());
