// Verifies a log with golang.org/x/mod/sumdb, which knows nothing of Assent: the checkpoint, every tile and every leaf.
//
//	verify_log FOLDER KEY [OLDER CHECKPOINT]
//
// KEY is a line `name+id+key`. It prints the size of the log, and ends with 1 and a sentence when something does not fit.
package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

const height = 8

// tiles reads the files of a log by the names of c2sp.org/tlog-tiles, which leave the height out.
type tiles struct{ folder string }

func (t tiles) Height() int { return height }

func (t tiles) SaveTiles([]tlog.Tile, [][]byte) {}

func (t tiles) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	found := make([][]byte, len(wanted))
	for i, tile := range wanted {
		data, err := os.ReadFile(filepath.Join(t.folder, strings.Replace(tile.Path(), "tile/8/", "tile/", 1)))
		if err != nil {
			return nil, err
		}
		found[i] = data
	}
	return found, nil
}

// open reads a checkpoint that is signed with the key.
func open(path string, key note.Verifier) (tlog.Tree, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return tlog.Tree{}, err
	}
	signed, err := note.Open(text, note.VerifierList(key))
	if err != nil {
		return tlog.Tree{}, err
	}
	lines := strings.Split(signed.Text, "\n")
	if len(lines) < 4 || lines[0] != key.Name() {
		return tlog.Tree{}, fmt.Errorf("not a checkpoint of %s", key.Name())
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil {
		return tlog.Tree{}, err
	}
	root, err := tlog.ParseHash(lines[2])
	return tlog.Tree{N: size, Hash: root}, err
}

// leaves reads the entries of the tree from their bundles.
func leaves(folder string, size int64) ([][]byte, error) {
	var found [][]byte
	for first := int64(0); first < size; first += 1 << height {
		width := size - first
		if width > 1<<height {
			width = 1 << height
		}
		// As a tile of level 0, with `entries` in place of the level.
		name := tlog.Tile{H: height, L: 0, N: first >> height, W: int(width)}.Path()
		data, err := os.ReadFile(filepath.Join(folder, strings.Replace(name, "tile/8/0/", "tile/entries/", 1)))
		if err != nil {
			return nil, err
		}
		for len(data) >= 2 {
			end := 2 + int(binary.BigEndian.Uint16(data))
			if end > len(data) {
				return nil, fmt.Errorf("%s is cut off", name)
			}
			found = append(found, data[2:end])
			data = data[end:]
		}
	}
	if int64(len(found)) != size {
		return nil, fmt.Errorf("the bundles have %d entries, and the checkpoint has %d", len(found), size)
	}
	return found, nil
}

func verify(folder, line string, older []string) (int64, error) {
	key, err := note.NewVerifier(line)
	if err != nil {
		return 0, err
	}
	tree, err := open(filepath.Join(folder, "checkpoint"), key)
	if err != nil {
		return 0, err
	}
	hashes := tlog.TileHashReader(tree, tiles{folder})
	entries, err := leaves(folder, tree.N)
	if err != nil {
		return 0, err
	}
	for i, entry := range entries {
		proof, err := tlog.ProveRecord(tree.N, int64(i), hashes)
		if err != nil {
			return 0, err
		}
		if err := tlog.CheckRecord(proof, tree.N, tree.Hash, int64(i), tlog.RecordHash(entry)); err != nil {
			return 0, fmt.Errorf("entry %d: %w", i, err)
		}
	}
	for _, path := range older {
		before, err := open(path, key)
		if err != nil {
			return 0, err
		}
		proof, err := tlog.ProveTree(tree.N, before.N, hashes)
		if err != nil {
			return 0, err
		}
		if err := tlog.CheckTree(proof, tree.N, tree.Hash, before.N, before.Hash); err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
	}
	return tree.N, nil
}

func main() {
	size, err := verify(os.Args[1], os.Args[2], os.Args[3:])
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(size)
}
