/**
 * What needs doing once, however many processes there are. Whoever moves the checkpoint of the webhook deliveries is on
 * duty; a process that finds another doing so stands by. Two that believe themselves on duty do some things twice, which
 * costs time and nothing else.
 */
export interface Duty {
  isOn(): boolean;
  take(): void;
  standBy(): void;
}

export const createDuty = (): Duty => {
  let on = true;
  return {
    isOn: () => on,
    take: () => {
      on = true;
    },
    standBy: () => {
      on = false;
    },
  };
};
