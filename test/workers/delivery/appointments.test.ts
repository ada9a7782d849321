import { describe, expect, test } from 'vitest';
import { createAppointments } from '../../../src/workers/delivery/appointments.ts';
import { createSteppableSystem } from '../../support/system.ts';

const open = (meet: (name: string) => void = () => undefined) => {
  const system = createSteppableSystem();
  const met: string[] = [];
  const appointments = createAppointments(system, (name) => {
    met.push(`${name} ${system.monotonicMs()}`);
    meet(name);
  });
  return { system, met, appointments };
};

describe('appointments', () => {
  test('are kept at their times, in whichever order they were made', async () => {
    const { system, met, appointments } = open();
    appointments.set('late', 3_000);
    appointments.set('soon', 1_000);
    appointments.set('then', 2_000);
    await system.advance(5_000);
    expect(met).toEqual(['soon 1000', 'then 2000', 'late 3000']);
  });

  test('are one for each name: the last that was made', async () => {
    const { system, met, appointments } = open();
    appointments.set('a', 1_000);
    appointments.set('a', 2_000);
    await system.advance(5_000);
    expect(met).toEqual(['a 2000']);
  });

  test('can be made for a time that is over, and by who is met: never at once', async () => {
    let again = 3;
    const { system, met, appointments } = open((name) => {
      again -= 1;
      if (again > 0) appointments.set(name, 0);
    });
    appointments.set('a', 0);
    expect(met).toEqual([]);
    await system.advance(1_000);
    expect(met).toEqual(['a 20', 'a 40', 'a 60']);
  });

  test('are not kept any more, nor made, at the end', async () => {
    const { system, met, appointments } = open();
    appointments.set('a', 1_000);
    appointments.close();
    appointments.set('b', 1_000);
    await system.advance(5_000);
    expect(met).toEqual([]);
  });
});
