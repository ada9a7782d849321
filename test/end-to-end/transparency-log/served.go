// Verifies an audit log as a service serves it, with golang.org/x/mod/sumdb alone: the policy, the checkpoint, tiles,
// leaves.
// Usage: served BASE_URL ORGANIZATION EARLIER_SIZE EARLIER_ROOT, with an auditor's token in OUTBOX_TOKEN.
// Exits with 1 on a difference.
package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

const (
	height   = 8
	tileSize = 1 << height
	// A tile of entries has at most 256 leaves of at most 65,535 bytes each.
	answerBytesMax = tileSize * (1<<16 + 1)
)

var client = http.Client{Timeout: 30 * time.Second}

func get(url, token string) ([]byte, error) {
	request, err := http.NewRequest("GET", url, nil)
	if err != nil {
		return nil, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, answerBytesMax))
	if err == nil && answer.StatusCode != 200 {
		err = fmt.Errorf("%s: %s %s", url, answer.Status, body)
	}
	return body, err
}

// The log of an organization, and the tiles that have been verified.
type served struct {
	url, token string
	saved      map[tlog.Tile][]byte
	fetched    *int
}

func (s served) Height() int { return height }

// In Go the height follows `tile/`. tlog-tiles omits it.
func (s served) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	found := make([][]byte, len(wanted))
	for at, tile := range wanted {
		if data, ok := s.saved[tile]; ok {
			found[at] = data
			continue
		}
		data, err := get(s.url+strings.Replace(tile.Path(), "tile/8/", "tile/", 1), s.token)
		if err != nil {
			return nil, err
		}
		found[at] = data
		*s.fetched++
	}
	return found, nil
}

func (s served) SaveTiles(tiles []tlog.Tile, data [][]byte) {
	for at, tile := range tiles {
		s.saved[tile] = data[at]
	}
}

// The leaves of a bundle (tlog-tiles, "Log entries"), each after its length.
func (s served) leaves(bundle, width int64) [][]byte {
	tile := tlog.Tile{H: height, L: -1, N: bundle, W: int(width)}
	rest := must(get(s.url+strings.Replace(tile.Path(), "tile/8/data/", "tile/entries/", 1), s.token))
	var leaves [][]byte
	for len(rest) > 1 {
		length := 2 + int(binary.BigEndian.Uint16(rest))
		require(length <= len(rest), "a leaf is cut off in ", tile)
		leaves = append(leaves, rest[2:length])
		rest = rest[length:]
	}
	require(int64(len(leaves)) == width && len(rest) == 0, "other leaves than asked for in ", tile)
	return leaves
}

// The signers that a tlog-policy names.
func verifiers(policy string) []note.Verifier {
	var keys []note.Verifier
	for _, line := range strings.Split(policy, "\n") {
		words := strings.Fields(line)
		switch {
		case len(words) > 1 && words[0] == "log":
			keys = append(keys, must(note.NewVerifier(words[1])))
		case len(words) > 2 && words[0] == "witness":
			keys = append(keys, newCosigner(words[2]))
		}
	}
	return keys
}

func main() {
	base, organization := os.Args[1], os.Args[2]
	earlierSize := must(strconv.ParseInt(os.Args[3], 10, 64))
	earlier := must(tlog.ParseHash(os.Args[4]))
	fetched := 0
	log := served{base + "/v1/audit/tlog/" + organization + "/", os.Getenv("OUTBOX_TOKEN"), map[tlog.Tile][]byte{}, &fetched}

	keys := verifiers(string(must(get(base+"/.well-known/outbox-audit/"+organization, ""))))
	opened := must(note.Open(must(get(log.url+"checkpoint", log.token)), note.VerifierList(keys...)))
	require(len(opened.Sigs) == len(keys), "not signed by all of the policy: ", opened.Text)
	tree := must(tlog.ParseTree([]byte(strings.Replace(opened.Text, keys[0].Name(), "go.sum database tree", 1))))

	hashes := tlog.TileHashReader(tree, log)
	require(must(tlog.TreeHash(tree.N, hashes)) == tree.Hash, "another root")
	proof := must(tlog.ProveTree(tree.N, earlierSize, hashes))
	require(tlog.CheckTree(proof, tree.N, tree.Hash, earlierSize, earlier) == nil, "it does not continue the earlier tree")
	for first := int64(0); first < tree.N; first += tileSize {
		width := tree.N - first
		if width > tileSize {
			width = tileSize
		}
		for at, leaf := range log.leaves(first/tileSize, width) {
			index := first + int64(at)
			own := must(hashes.ReadHashes([]int64{tlog.StoredHashIndex(0, index)}))[0]
			require(json.Valid(leaf) && own == tlog.RecordHash(leaf), "leaf ", index, " has another hash")
			record := must(tlog.ProveRecord(tree.N, index, hashes))
			require(tlog.CheckRecord(record, tree.N, tree.Hash, index, own) == nil, "leaf ", index, " is not in the tree")
		}
	}
	answer := map[string]int64{"leaves": tree.N, "signatures": int64(len(opened.Sigs)), "tiles": int64(fetched)}
	fmt.Println(string(must(json.Marshal(answer))))
}
