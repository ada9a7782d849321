/**
 * Measures contenders alternately, so that other load on the machine affects all of them alike.
 * @param warmUps number of initial rounds to discard.
 */
export const interleave = async <Name extends string>(
  { rounds, warmUps }: { readonly rounds: number; readonly warmUps: number },
  contenders: Readonly<Record<Name, () => Promise<number>>>,
): Promise<Readonly<Record<Name, readonly number[]>>> => {
  const names = Object.keys(contenders) as Name[]; // the object's own keys
  const figures = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>;
  for (let round = -warmUps; round < rounds; round += 1) {
    for (const name of names) {
      const figure = await contenders[name]();
      if (round >= 0) figures[name].push(figure);
    }
  }
  return figures;
};
