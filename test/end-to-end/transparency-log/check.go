// Checks a tree, its proofs, tiles and notes with the transparency log of Go's module proxy (golang.org/x/mod/sumdb).
// Usage: check FOLDER, which contains leaves.txt, checks.jsonl, notes.jsonl and tile/. Exits with 1 on a difference.
package main

import (
	"bufio"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// A proof that leaf From is in the tree of Size leaves, or that the tree of From leaves is its prefix.
type check struct {
	Kind       string
	From, Size int64
	Root       tlog.Hash
	Proof      []tlog.Hash
}

// A note, the vkey that has signed it, and the vkey that has cosigned it, if any.
type signed struct{ Vkey, Cosigner, Note string }

func eachLine(name string, do func(line []byte)) {
	file := must(os.Open(name))
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		do(lines.Bytes())
	}
	require(lines.Err() == nil, name, lines.Err())
}

// The tree as Go stores it.
type memory []tlog.Hash

func (m memory) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	found := make([]tlog.Hash, len(indexes))
	for at, index := range indexes {
		found[at] = m[index]
	}
	return found, nil
}

// The tree as Outbox serves it: tile/<level>/<index>[.p/<width>]. In Go the height follows `tile/`.
type tiles struct{ folder string }

func (t tiles) Height() int { return 8 }

func (t tiles) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	found := make([][]byte, len(wanted))
	for at, tile := range wanted {
		path := strings.Replace(tile.Path(), "tile/8/", "tile/", 1)
		data, err := os.ReadFile(filepath.Join(t.folder, path))
		if err != nil {
			return nil, err
		}
		found[at] = data
	}
	return found, nil
}

func (t tiles) SaveTiles([]tlog.Tile, [][]byte) {}

func checkProof(c check, hashes tlog.HashReader, leaf func(int64) tlog.Hash) {
	require(must(tlog.TreeHash(c.Size, hashes)) == c.Root, "another root at ", c.Size)
	var own []tlog.Hash
	var err error
	if c.Kind == "inclusion" {
		own = must(tlog.ProveRecord(c.Size, c.From, hashes))
		err = tlog.CheckRecord(c.Proof, c.Size, c.Root, c.From, leaf(c.From))
	} else {
		own = must(tlog.ProveTree(c.Size, c.From, hashes))
		err = tlog.CheckTree(c.Proof, c.Size, c.Root, c.From, must(tlog.TreeHash(c.From, hashes)))
	}
	require(err == nil, c, err)
	require(len(own)+len(c.Proof) == 0 || reflect.DeepEqual(own, c.Proof), "another proof: ", c, own)
}

func main() {
	folder := os.Args[1]
	var stored memory
	var size int64
	eachLine(filepath.Join(folder, "leaves.txt"), func(leaf []byte) {
		stored = append(stored, must(tlog.StoredHashes(size, leaf, stored))...)
		size++
	})
	leaf := func(index int64) tlog.Hash { return stored[tlog.StoredHashIndex(0, index)] }
	served := tlog.TileHashReader(tlog.Tree{N: size, Hash: must(tlog.TreeHash(size, stored))}, tiles{folder})

	proofs, tiled, notes := 0, 0, 0
	eachLine(filepath.Join(folder, "checks.jsonl"), func(line []byte) {
		var c check
		require(json.Unmarshal(line, &c) == nil, string(line))
		checkProof(c, stored, leaf)
		proofs++
		if c.Size == size {
			checkProof(c, served, leaf)
			tiled++
		}
	})
	eachLine(filepath.Join(folder, "notes.jsonl"), func(line []byte) {
		var s signed
		require(json.Unmarshal(line, &s) == nil, string(line))
		keys := []note.Verifier{must(note.NewVerifier(s.Vkey))}
		if s.Cosigner != "" {
			keys = append(keys, newCosigner(s.Cosigner))
		}
		opened := must(note.Open([]byte(s.Note), note.VerifierList(keys...)))
		require(len(opened.Sigs) == len(keys), "unverified: ", s.Note)
		tree := must(tlog.ParseTree([]byte(strings.Replace(opened.Text, keys[0].Name(), "go.sum database tree", 1))))
		require(tree.N > 0, "an empty tree")
		notes++
	})

	skey, vkey, err := note.GenerateKey(rand.Reader, "go.example/log")
	require(err == nil, err)
	text := "go.example/log\n1\n" + leaf(0).String() + "\n"
	public, private, err := ed25519.GenerateKey(rand.Reader)
	require(err == nil, err)
	witness := cosigner{"go.example/witness", public, private}
	signedByGo := must(note.Sign(&note.Note{Text: text}, must(note.NewSigner(skey)), witness))
	answer := map[string]any{
		"proofs": proofs, "tiled": tiled, "notes": notes,
		"skey": skey, "vkey": vkey, "cosigner": witness.vkey(), "note": string(signedByGo),
	}
	fmt.Println(string(must(json.Marshal(answer))))
}
